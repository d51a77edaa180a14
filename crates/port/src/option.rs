//! The socket options that [`rustix`] does not know.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option. `T` is the record of integers that the kernel's header gives for it.
pub(crate) fn set<T>(socket: impl AsFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let (socket, size) = (socket.as_fd().as_raw_fd(), size_of::<T>() as u32);
    // SAFETY: the kernel reads `size` bytes from `value`, which is that long.
    let result =
        unsafe { libc::setsockopt(socket, level, option, (&raw const *value).cast(), size) };
    checked(result)
}

/// Asks for an option. `value` is the record of integers that the kernel's header gives for it;
/// what this kernel does not know of it stays as given.
pub(crate) fn get<T: Copy>(
    socket: impl AsFd,
    level: i32,
    option: i32,
    mut value: T,
) -> io::Result<T> {
    let (socket, mut size) = (socket.as_fd().as_raw_fd(), size_of::<T>() as u32);
    // SAFETY: the kernel writes at most `size` bytes of integers into `value`, which is that long.
    let result = unsafe {
        libc::getsockopt(
            socket,
            level,
            option,
            (&raw mut value).cast(),
            &raw mut size,
        )
    };
    checked(result).map(|()| value)
}

/// What a system call's result says.
pub(crate) fn checked(result: i32) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
