//! The kernel's lock for changes of links (rtnl), held while a test shows who waits for it.
//!
//! ethtool's answer is written to the caller's memory under the lock. Where that memory is not there
//! yet, and somebody wants to be asked for it (userfaultfd(2)), the kernel waits for them.

use std::fs::File;
use std::io::{self, Read};
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Everybody on this machine who changes links waits meanwhile.
const LONGEST: Duration = Duration::from_secs(20);
const PAGE: usize = 4096;
/// `UFFDIO_API` and its `UFFD_API`; `UFFDIO_REGISTER` and its mode for pages that are missing.
const API: (libc::c_ulong, u64) = (0xc018_aa3f, 0xaa);
const REGISTER: (libc::c_ulong, u64) = (0xc020_aa00, 1);
/// Of `struct uffd_msg`.
const QUESTION_BYTES: usize = 32;
/// `SIOCETHTOOL`, and a question that needs no driver.
const ETHTOOL: libc::c_ulong = 0x8946;
const GET_LINK: u32 = 10;

/// As long as this lives, nobody changes a link, for 20 seconds at most.
#[derive(Debug)]
pub(crate) struct Held {
    release: Sender<()>,
    /// Was it held until it was to be released?
    holder: JoinHandle<bool>,
}

/// Holds the lock. It needs root.
///
/// # Panics
/// When the kernel refuses.
pub(crate) fn hold() -> Held {
    let (release, released) = channel();
    let (say, held) = channel();
    let holder = std::thread::spawn(move || hold_until(&released, &say).unwrap());
    held.recv().expect("the lock");
    Held { release, holder }
}

impl Held {
    /// Lets go.
    ///
    /// # Panics
    /// When somebody waited in vain, so that this had to happen before.
    pub(crate) fn release(self) {
        let _over = self.release.send(());
        assert!(
            self.holder.join().unwrap(),
            "who tells us to let go waited for the lock"
        );
    }
}

fn hold_until(released: &Receiver<()>, say: &Sender<()>) -> io::Result<bool> {
    // SAFETY: no pointers.
    let asked = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
    let asked = checked(asked)?;
    // SAFETY: a new descriptor that is nobody else's.
    let mut asked = unsafe { File::from_raw_fd(asked as i32) };
    let (access, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: new memory, at no address that is in use. It stays for good.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), 2 * PAGE, access, kind, -1, 0) };
    let memory = memory as usize;
    let mut api = [API.1, 0, 0];
    let mut register = [(memory + PAGE) as u64, PAGE as u64, REGISTER.1, 0];
    for (code, argument) in [
        (API.0, api.as_mut_ptr()),
        (REGISTER.0, register.as_mut_ptr()),
    ] {
        // SAFETY: `struct uffdio_api` and `struct uffdio_register`, which live through the call.
        checked(unsafe { libc::ioctl(asked.as_raw_fd(), code, argument) }.into())?;
    }
    // The question ends with the first page, and of the answer its second half is in the other.
    let question = (memory + PAGE - size_of::<u32>()) as *mut u32;
    // SAFETY: in the first page, and aligned.
    unsafe { question.write(GET_LINK) };
    let question = question as usize;
    let asking = std::thread::spawn(move || {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        // SAFETY: zeros are a `struct ifreq`.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name[..2].copy_from_slice(&[b'l', b'o'].map(u8::cast_signed));
        request.ifr_ifru.ifru_data = question as *mut libc::c_char;
        // SAFETY: the request lives through the call, and there are 8 bytes for the answer.
        checked(unsafe { libc::ioctl(socket.as_raw_fd(), ETHTOOL, &raw mut request) }.into())
    });
    asked.read_exact(&mut [0; QUESTION_BYTES])?;
    let _gone = say.send(());
    let in_time = released.recv_timeout(LONGEST).is_ok();
    drop(asked);
    asking
        .join()
        .map_err(|_| io::Error::other("a thread panicked"))??;
    Ok(in_time)
}

fn checked(result: i64) -> io::Result<i64> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
