//! The shared memory: a head and entries of two cache lines. The C header writes the same layout.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

/// "CLMARK", version 1.
const MAGIC: u64 = 0x0031_4b52_414d_4c43;
/// Entries on the page.
const ENTRIES: usize = 511;
/// Bytes of a name.
const NAME: usize = 80;
/// The kind of an entry that nobody has yet, of one that is being written, and of a lock's name
/// whose time is over: it can be read until its entry is taken for another mark.
const FREE: u32 = 0;
const WRITING: u32 = u32::MAX;
const OVER: u32 = 3;

/// What a mark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// A lock's name, perhaps with its holds counted.
    Lock = 1,
    /// A counter of work done.
    Progress = 2,
}

/// The page's first 128 bytes.
#[repr(C, align(128))]
struct Head {
    magic: AtomicU64,
    process: AtomicU32,
}

/// One mark.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Entry {
    /// [`FREE`], [`WRITING`], [`OVER`], or a [`Kind`].
    kind: AtomicU32,
    length: AtomicU32,
    address: AtomicU64,
    pub(crate) count: AtomicU64,
    pub(crate) held: AtomicU64,
    name: [AtomicU8; NAME],
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    from: AtomicU64,
    /// The same; 0 while the name is given.
    until: AtomicU64,
}

#[repr(C)]
struct Page {
    head: Head,
    entries: [Entry; ENTRIES],
}

/// A mark as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What it is.
    pub kind: Kind,
    /// The lock's address; 0 for progress.
    pub address: u64,
    /// The lock's bytes.
    pub length: u64,
    /// Its name.
    pub name: String,
    /// Holds, or events done.
    pub count: u64,
    /// Nanoseconds held in all.
    pub held: u64,
    /// When it was made: nanoseconds of `CLOCK_MONOTONIC`; 0 when a program did not tell.
    pub from: u64,
    /// When the name was given back; `None` while it is given.
    pub until: Option<u64>,
}

/// Where the pages are, and how their names begin; the number of the process ends them.
const PLACE: &str = "/dev/shm";
const PREFIX: &str = "corelane-marker-";

fn path(process: u32) -> String {
    format!("{PLACE}/{PREFIX}{process}")
}

/// A page in our memory.
#[derive(Debug)]
struct Mapped(MmapRaw);

impl Mapped {
    fn of(file: &File, writable: bool) -> Option<Self> {
        if file.metadata().ok()?.len() < size_of::<Page>() as u64 {
            return None;
        }
        let mut options = MmapOptions::new();
        options.len(size_of::<Page>());
        let mapping = if writable {
            options.map_raw(file)
        } else {
            options.map_raw_read_only(file)
        };
        mapping.ok().map(Self)
    }

    fn page(&self) -> &Page {
        #[allow(clippy::cast_ptr_alignment, reason = "a mapping begins with a page")]
        let page = self.0.as_ptr().cast::<Page>();
        // SAFETY: the mapping is page-aligned, as long as a `Page`, and made of atomics, for which
        // every bit pattern is valid; it lives as long as `self`.
        unsafe { &*page }
    }
}

/// Makes the page of `process`. Whatever has its name is taken away first and not written to:
/// anybody may make files in that place.
fn make(process: u32) -> Option<Mapped> {
    let path = path(process);
    let _ = std::fs::remove_file(&path);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .ok()?;
    file.set_len(size_of::<Page>() as u64).ok()?;
    let mapped = Mapped::of(&file, true)?;
    let head = &mapped.page().head;
    head.process.store(process, Ordering::Relaxed);
    head.magic.store(MAGIC, Ordering::Release);
    Some(mapped)
}

/// This process' page, made at the first call.
fn mine() -> Option<&'static Page> {
    static MINE: OnceLock<Option<Mapped>> = OnceLock::new();
    let mapped = MINE.get_or_init(|| {
        sweep();
        let mapped = make(std::process::id())?;
        // SAFETY: registers a function without arguments that lives as long as the program.
        unsafe { libc::atexit(remove) };
        Some(mapped)
    });
    mapped.as_ref().map(Mapped::page)
}

extern "C" fn remove() {
    // Nobody is left to tell when it is gone already.
    let _ = std::fs::remove_file(path(std::process::id()));
}

/// Removes the pages of processes that were killed before they could.
fn sweep() {
    let alive = |process: &u32| Path::new(&format!("/proc/{process}")).exists();
    for process in processes().into_iter().filter(|process| !alive(process)) {
        // Another process may have swept it meanwhile.
        let _ = std::fs::remove_file(path(process));
    }
}

/// The numbers of the processes that have a page.
pub fn processes() -> Vec<u32> {
    let pages = std::fs::read_dir(PLACE).into_iter().flatten().flatten();
    pages
        .filter_map(|page| {
            page.file_name()
                .to_str()?
                .strip_prefix(PREFIX)?
                .parse()
                .ok()
        })
        .collect()
}

pub(crate) fn take(
    kind: Kind,
    address: usize,
    length: usize,
    name: &str,
) -> Option<&'static Entry> {
    let entry = claim(&mine()?.entries)?;
    entry.address.store(address as u64, Ordering::Relaxed);
    entry
        .length
        .store(u32::try_from(length).unwrap_or(u32::MAX), Ordering::Relaxed);
    entry.count.store(0, Ordering::Relaxed);
    entry.held.store(0, Ordering::Relaxed);
    entry.from.store(crate::now(), Ordering::Relaxed);
    entry.until.store(0, Ordering::Relaxed);
    let bytes = &name.as_bytes()[..name.floor_char_boundary(NAME)];
    for (at, place) in entry.name.iter().enumerate() {
        place.store(bytes.get(at).copied().unwrap_or(0), Ordering::Relaxed);
    }
    entry.kind.store(kind as u32, Ordering::Release);
    Some(entry)
}

/// An entry for a new mark: one that nobody has had yet, else that of the name that is over for the
/// longest time.
fn claim(entries: &[Entry]) -> Option<&Entry> {
    let take = |entry: &&Entry, kind| {
        let taken =
            entry
                .kind
                .compare_exchange(kind, WRITING, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    };
    let unused = entries.iter().find(|entry| take(entry, FREE));
    unused.or_else(|| {
        let over = |entry: &&Entry| entry.kind.load(Ordering::Acquire) == OVER;
        let mut over: Vec<&Entry> = entries.iter().filter(over).collect();
        over.sort_by_key(|entry| entry.until.load(Ordering::Relaxed));
        over.into_iter().find(|entry| take(entry, OVER))
    })
}

pub(crate) fn give_back(entry: &Entry) {
    entry.until.store(crate::now(), Ordering::Relaxed);
    entry.kind.store(OVER, Ordering::Release);
}

/// Another process' page, held open: what it counted last can be read after its end.
#[derive(Debug)]
pub struct Reader(Mapped);

impl Reader {
    /// Opens the page of `process`; `None` when it has none.
    pub fn open(process: u32) -> Option<Self> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path(process));
        let reader = Self(Mapped::of(&file.ok()?, false)?);
        let magic = reader.0.page().head.magic.load(Ordering::Acquire);
        (magic == MAGIC && reader.process() == process).then_some(reader)
    }

    /// Whose page it is.
    pub fn process(&self) -> u32 {
        self.0.page().head.process.load(Ordering::Relaxed)
    }

    /// The marks there are now, and the names that are over as long as their entries are not
    /// needed.
    pub fn marks(&self) -> Vec<Mark> {
        let entries = self.0.page().entries.iter();
        entries.filter_map(Entry::read).collect()
    }
}

/// The marks of `process`; `None` when it has none.
pub fn read(process: u32) -> Option<Vec<Mark>> {
    Some(Reader::open(process)?.marks())
}

impl Entry {
    fn read(&self) -> Option<Mark> {
        let state = self.kind.load(Ordering::Acquire);
        let kind = match state {
            1 | OVER => Kind::Lock,
            2 => Kind::Progress,
            _ => return None,
        };
        let bytes: Vec<u8> = self
            .name
            .iter()
            .map(|byte| byte.load(Ordering::Relaxed))
            .take_while(|byte| *byte != 0)
            .collect();
        Some(Mark {
            kind,
            address: self.address.load(Ordering::Relaxed),
            length: u64::from(self.length.load(Ordering::Relaxed)),
            name: String::from_utf8_lossy(&bytes).into_owned(),
            count: self.count.load(Ordering::Relaxed),
            held: self.held.load(Ordering::Relaxed),
            from: self.from.load(Ordering::Relaxed),
            until: (state == OVER).then(|| self.until.load(Ordering::Relaxed)),
        })
    }
}

#[cfg(test)]
#[path = "../tests/unit/page.rs"]
mod tests;
