//! The processes of the machine with their parents, read without allocating.

use std::mem::MaybeUninit;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io;
use rustix::process::Pid;

/// Calls `visit` with the process number and its parent's, for every process in `/proc`, without
/// allocating.
pub(super) fn for_each_process(mut visit: impl FnMut(Pid, Pid)) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(all) = openat(CWD, c"/proc", flags, Mode::empty()) else {
        return;
    };
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(&all, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let parent_of = || -> io::Result<Option<Pid>> {
            let place = openat(&all, entry.file_name(), flags, Mode::empty())?;
            let file = openat(
                place,
                c"stat",
                OFlags::RDONLY | OFlags::CLOEXEC,
                Mode::empty(),
            )?;
            let mut text = [0_u8; 512];
            let length = io::read(file, &mut text)?;
            Ok(parent_in_stat(&text[..length]))
        };
        // A process may end between the two looks.
        if let Some(pid) = process(entry.file_name().to_bytes())
            && let Ok(Some(parent)) = parent_of()
        {
            visit(pid, parent);
        }
    }
}

/// The process of which this is the number.
fn process(digits: &[u8]) -> Option<Pid> {
    let number = str::from_utf8(digits).ok()?.parse().ok()?;
    (number > 0).then(|| Pid::from_raw(number)).flatten()
}

/// The parent of a process, from its `stat`: the second field after the last `)`.
fn parent_in_stat(stat: &[u8]) -> Option<Pid> {
    let bracket = stat.iter().rposition(|&b| b == b')')?;
    let rest = stat.get(bracket + 4..)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
    process(&rest[..digits.count()])
}

#[cfg(test)]
#[path = "../../../tests/unit/process_list.rs"]
mod tests;
