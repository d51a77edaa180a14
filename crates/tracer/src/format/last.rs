//! The last part of a long trace: what fits into memory, chosen by the heads of its blocks, so that
//! the rest is never read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use report::units::Nanoseconds;

use super::MAGIC;
use super::block::{HEAD, Head};
use super::read::ReadError;
use crate::trace::Trace;

/// Events that are analysed of a trace: some hundred bytes of memory each.
pub const ANALYSED: u64 = 3_000_000;

/// A block's place in the file.
struct Place {
    at: u64,
    length: usize,
    head: Head,
}

impl Place {
    fn is_events(&self) -> bool {
        self.head.kind == b'C'
    }
}

impl Trace {
    /// Reads the file at `path`, of its events at most the last `most`. When there are more, its
    /// window begins later, and [`Trace::complaints`] says so.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn open_last(path: &Path, most: u64) -> Result<Self, ReadError> {
        let io = |cause| ReadError::Io {
            path: path.display().to_string(),
            cause,
        };
        let file = File::open(path).map_err(io)?;
        let places = places(&file).map_err(io)?;
        let events = places.iter().filter(|place| place.is_events());
        let all: u64 = events.map(|place| u64::from(place.head.count)).sum();
        if all <= most {
            return Self::open(path);
        }
        let from = cut(&places, most);
        let is_kept = |place: &&Place| !place.is_events() || place.head.first >= from;
        let bytes = read(&file, places.iter().filter(is_kept)).map_err(io)?;
        let mut trace = Self::from_bytes(&bytes)?;
        trace.narrow(begin(&places, from), all);
        Ok(trace)
    }

    /// Its window begins at `begin`; it had `all` events.
    fn narrow(&mut self, begin: u64, all: u64) {
        let (start, end) = self.window();
        let kept = Nanoseconds(end.saturating_sub(begin));
        self.complaints.push(format!(
            "The trace has {all} events, more than are analysed at once: all this is about the \
             last {kept} of {}.",
            Nanoseconds(end - start)
        ));
        self.trailer.start = begin;
        // They count from the recording's beginning.
        self.trailer.holds.clear();
    }
}

/// All blocks, as far as the file has them whole.
fn places(file: &File) -> io::Result<Vec<Place>> {
    let end = file.metadata()?.len();
    let mut places = Vec::new();
    let mut at = MAGIC.len() as u64 + 1;
    let mut bytes = [0; HEAD];
    while at + HEAD as u64 <= end {
        file.read_exact_at(&mut bytes, at)?;
        let head = Head::new(&bytes);
        let length = HEAD + head.stored as usize;
        if at + length as u64 > end {
            break;
        }
        places.push(Place { at, length, head });
        at += length as u64;
    }
    Ok(places)
}

/// The earliest beginning of a block with which, and all later ones, there are no more events than
/// `most`.
fn cut(places: &[Place], most: u64) -> u64 {
    let events = places.iter().filter(|place| place.is_events());
    let mut blocks: Vec<_> = events.map(|place| &place.head).collect();
    blocks.sort_by_key(|head| std::cmp::Reverse(head.first));
    let mut room = most;
    let fit = blocks.iter().take_while(|head| {
        let fits = u64::from(head.count) <= room;
        room = room.saturating_sub(u64::from(head.count));
        fits
    });
    fit.last().map_or(u64::MAX, |head| head.first)
}

/// The instant from which every core that has blocks since `from` has all its events.
fn begin(places: &[Place], from: u64) -> u64 {
    let mut firsts = std::collections::BTreeMap::new();
    for place in places.iter().filter(|place| place.is_events()) {
        if place.head.first >= from {
            let first = firsts.entry(place.head.cpu).or_insert(u64::MAX);
            *first = place.head.first.min(*first);
        }
    }
    firsts.into_values().max().unwrap_or(from)
}

/// The file's beginning and these blocks of it.
fn read<'a>(file: &File, places: impl Iterator<Item = &'a Place>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; MAGIC.len() + 1];
    file.read_exact_at(&mut bytes, 0)?;
    for place in places {
        let before = bytes.len();
        bytes.resize(before + place.length, 0);
        file.read_exact_at(&mut bytes[before..], place.at)?;
    }
    Ok(bytes)
}
