//! The processes of the machine with their parents, read without allocating.

use std::os::fd::RawFd;
use std::ptr;

use libc::{c_char, pid_t};

/// Calls `visit` with the process number and its parent's, for every process in `/proc`, without
/// allocating.
pub(super) fn for_each_process(mut visit: impl FnMut(pid_t, pid_t)) {
    // SAFETY: the path is a C string, the buffers live on this stack with the sizes that are
    // passed, and directory records are read within the bytes that the kernel reported
    // (getdents64(2)).
    unsafe {
        let directory = libc::open(
            c"/proc".as_ptr(),
            libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC,
        );
        if directory < 0 {
            return;
        }
        let mut buffer = [0_u64; 1024];
        loop {
            let bytes = libc::syscall(
                libc::SYS_getdents64,
                directory,
                buffer.as_mut_ptr(),
                size_of_val(&buffer),
            );
            if bytes <= 0 {
                break;
            }
            let base = buffer.as_ptr().cast::<u8>();
            let mut offset = 0_usize;
            while offset < bytes as usize {
                let record = base.add(offset);
                let length = usize::from(ptr::read_unaligned(record.add(16).cast::<u16>()));
                let pid = decimal(record.add(19));
                if pid > 0
                    && let Some(parent) = parent_of(directory, record.add(19).cast())
                {
                    visit(pid, parent);
                }
                offset += length.max(1);
            }
        }
        libc::close(directory);
    }
}

/// The number that a C string spells, or 0.
///
/// # Safety
/// `text` points to a string that ends with a zero byte.
unsafe fn decimal(mut text: *const u8) -> pid_t {
    let mut number: pid_t = 0;
    // SAFETY: reads up to the zero byte that the caller promised.
    unsafe {
        while *text != 0 {
            if !(*text).is_ascii_digit() {
                return 0;
            }
            number = number
                .saturating_mul(10)
                .saturating_add(pid_t::from(*text - b'0'));
            text = text.add(1);
        }
    }
    number
}

/// The parent of a process, from its `stat`: the second field after the last `)`.
///
/// # Safety
/// `name` is a C string: the name of a process directory within `directory`.
unsafe fn parent_of(directory: RawFd, name: *const c_char) -> Option<pid_t> {
    // SAFETY: the descriptors are checked, and the buffer has the size that is passed.
    unsafe {
        let process = libc::openat(
            directory,
            name,
            libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC,
        );
        if process < 0 {
            return None;
        }
        let file = libc::openat(process, c"stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        libc::close(process);
        if file < 0 {
            return None;
        }
        let mut buffer = [0_u8; 512];
        let count = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(file);
        let text = buffer.get(..usize::try_from(count).ok()?)?;
        parent_in_stat(text)
    }
}

fn parent_in_stat(stat: &[u8]) -> Option<pid_t> {
    let bracket = stat.iter().rposition(|&b| b == b')')?;
    let mut number: pid_t = 0;
    for &byte in stat.get(bracket + 4..)? {
        if !byte.is_ascii_digit() {
            break;
        }
        number = number
            .saturating_mul(10)
            .saturating_add(pid_t::from(byte - b'0'));
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_listed_with_its_parent() {
        let (own, parent) = (std::process::id(), std::os::unix::process::parent_id());
        let mut found = None;
        for_each_process(|pid, its_parent| {
            if pid.unsigned_abs() == own {
                found = Some(its_parent.unsigned_abs());
            }
        });
        assert_eq!(found, Some(parent));
    }

    #[test]
    fn a_name_with_brackets_does_not_hide_the_parent() {
        assert_eq!(parent_in_stat(b"12 (a) S 9 (b)) R 345 1 1"), Some(345));
        assert_eq!(parent_in_stat(b"12"), None);
    }
}
