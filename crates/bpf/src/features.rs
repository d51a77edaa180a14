//! What a network device can do with XDP, as the kernel says over generic netlink (family `netdev`,
//! Linux 6.3).
//!
//! The one feature that matters here: whether the device takes frames that are redirected to it. A
//! veth does only while its peer has an XDP program or GRO switched on; redirecting to one that
//! does not loses every frame without a word.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `NETDEV_XDP_ACT_NDO_XMIT`.
const ACCEPTS_REDIRECT: u64 = 1 << 2;

const NETLINK_GENERIC: i32 = 16;
const HEADERS: usize = 16 + 4;
const CONTROL_FAMILY: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const DEVICE_GET: u8 = 1;
const DEVICE_IFINDEX: u16 = 1;
const DEVICE_XDP_FEATURES: u16 = 3;

/// Does the device with this index, in the calling thread's network namespace, take redirected
/// frames? True when the kernel is too old to say.
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such device.
pub fn accepts_redirect(ifindex: u32) -> io::Result<bool> {
    let socket = Socket::open()?;
    let answer = match socket.ask(CONTROL_FAMILY, GET_FAMILY, FAMILY_NAME, b"netdev\0") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        answer => answer?,
    };
    let Some(family) = attribute(&answer, FAMILY_ID).and_then(|value| value.first_chunk()) else {
        return Err(io::Error::other("family `netdev` without a number"));
    };
    let family = u16::from_ne_bytes(*family);
    let answer = socket.ask(family, DEVICE_GET, DEVICE_IFINDEX, &ifindex.to_ne_bytes())?;
    let features = attribute(&answer, DEVICE_XDP_FEATURES)
        .and_then(|value| value.first_chunk())
        .map_or(0, |value| u64::from_ne_bytes(*value));
    Ok(features & ACCEPTS_REDIRECT != 0)
}

struct Socket(OwnedFd);

impl Socket {
    fn open() -> io::Result<Self> {
        // SAFETY: no memory involved.
        let descriptor = unsafe {
            libc::socket(
                libc::AF_NETLINK,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC,
                NETLINK_GENERIC,
            )
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, owned by nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// One request with one attribute; the answer's attributes.
    fn ask(&self, family: u16, command: u8, kind: u16, value: &[u8]) -> io::Result<Vec<u8>> {
        let mut request = Vec::with_capacity(64);
        let length = HEADERS + 4 + value.len().next_multiple_of(4);
        request.extend_from_slice(&(length as u32).to_ne_bytes());
        request.extend_from_slice(&family.to_ne_bytes());
        request.extend_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
        request.extend_from_slice(&[0; 8]);
        request.extend_from_slice(&[command, 1, 0, 0]);
        request.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
        request.extend_from_slice(&kind.to_ne_bytes());
        request.extend_from_slice(value);
        request.resize(length, 0);
        // SAFETY: the buffer is as long as stated and only read.
        let sent = unsafe {
            libc::send(
                self.0.as_raw_fd(),
                request.as_ptr().cast(),
                request.len(),
                0,
            )
        };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut answer = vec![0_u8; 16 * 1024];
        // SAFETY: the buffer is as long as stated.
        let got = unsafe {
            libc::recv(
                self.0.as_raw_fd(),
                answer.as_mut_ptr().cast(),
                answer.len(),
                0,
            )
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        answer.truncate(got as usize);
        let word = |at: usize| {
            answer
                .get(at..)
                .and_then(|rest| rest.first_chunk())
                .map_or(0, |bytes| u32::from_ne_bytes(*bytes))
        };
        let length = (word(0) as usize).min(answer.len());
        if word(4) & 0xffff == libc::NLMSG_ERROR as u32 {
            return Err(io::Error::from_raw_os_error(
                word(16).cast_signed().wrapping_neg(),
            ));
        }
        Ok(answer.get(HEADERS..length).unwrap_or_default().to_vec())
    }
}

/// The value of the first attribute of this kind.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(*attributes.first_chunk()?));
        let kind = u16::from_ne_bytes(*attributes.get(2..)?.first_chunk()?);
        let value = attributes.get(4..length)?;
        if kind & 0x3fff == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_and_broken_ones_end_the_search() {
        let two = [8, 0, 1, 0, 1, 2, 3, 4, 6, 0, 2, 0, 9, 8, 0, 0];
        assert_eq!(attribute(&two, 1), Some(&[1, 2, 3, 4][..]));
        assert_eq!(attribute(&two, 2), Some(&[9, 8][..]));
        assert_eq!(attribute(&two, 3), None);
        for cut in 0..two.len() {
            let _value = attribute(&two[..cut], 2);
        }
        assert_eq!(attribute(&[0, 0, 1, 0], 2), None);
    }
}
