//! A netlink socket with this project's policy: a large receive buffer, strict dumps, dumps
//! repeated when the kernel says that they were not of one piece, and lost messages (`ENOBUFS`)
//! reported instead of hidden.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{self, PollFd, PollFlags, Timespec};

use super::decode::Message;

/// Multicast groups of rtnetlink (`RTNLGRP_*`) that the mirror listens to.
pub const GROUPS: [libc::c_int; 9] = [
    1,  // links
    3,  // neighbours
    5,  // IPv4 addresses
    7,  // IPv4 routes
    8,  // IPv4 rules
    9,  // IPv6 addresses
    11, // IPv6 routes
    19, // IPv6 rules
    32, // nexthop objects
];

/// Bytes asked of the kernel for messages not yet read: about a quarter of a million route changes.
const RECEIVE_BUFFER: libc::c_int = 64 << 20;
/// The kernel fills at most 32 KiB for one read of a dump.
pub const READ_SIZE: usize = 64 << 10;
const HEADER: usize = 16;
const SOL_NETLINK: libc::c_int = 270;
const NETLINK_ADD_MEMBERSHIP: libc::c_int = 1;
const NETLINK_GET_STRICT_CHK: libc::c_int = 12;
const NLM_F_DUMP_INTR: u16 = 0x10;

/// A netlink socket.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    buffer: Vec<u8>,
    sequence: u32,
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// This many messages.
    Messages(usize),
    /// Nothing is waiting.
    Nothing,
    /// Messages were lost: the socket's buffer was full. Only a new dump tells what they said.
    Overrun,
}

/// What a look for the next piece of a dump brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// Some messages, and more are to come.
    More,
    /// Nothing yet.
    None,
    /// The end.
    Last,
}

/// How a dump ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dumped {
    /// It was of one piece.
    Whole,
    /// The kernel's tables changed meanwhile and something may be missing or twice.
    Interrupted,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// A socket of a netlink family (`NETLINK_ROUTE`, ...) in the calling thread's network
    /// namespace, listening to `groups`.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn open(family: libc::c_int, groups: &[libc::c_int]) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers are passed.
        let raw = unsafe { libc::socket(libc::AF_NETLINK, kind, family) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave this descriptor to us alone.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        let socket = Self {
            fd,
            buffer: vec![0; READ_SIZE],
            sequence: 1,
        };
        // Beyond the system's limit with CAP_NET_ADMIN, else up to it.
        if socket
            .option(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
            .is_err()
        {
            socket.option(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER)?;
        }
        socket.option(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1)?;
        socket.bind()?;
        for group in groups {
            socket.option(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, *group)?;
        }
        Ok(socket)
    }

    /// Takes a port number of the kernel's choice: announcements pass by a socket without one.
    fn bind(&self) -> io::Result<()> {
        // SAFETY: all zeroes is a valid address: any port, no groups.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        let size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: the pointer is to `address`, which is `size` bytes long and lives during the
        // call.
        let result = unsafe { libc::bind(self.raw(), (&raw const address).cast(), size) };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    fn option(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the pointer is to `value`, which is `size` bytes long and lives during the call.
        let result = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                name,
                (&raw const value).cast(),
                size,
            )
        };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Sends one request; `body` is what follows the header.
    ///
    /// # Errors
    /// When the kernel refuses it at once; later refusals come as messages.
    pub fn request(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(flags | libc::NLM_F_REQUEST as u16).to_ne_bytes());
        message.extend_from_slice(&self.sequence.to_ne_bytes());
        message.extend_from_slice(&0u32.to_ne_bytes());
        message.extend_from_slice(body);
        // SAFETY: pointer and length describe `message`.
        let sent = unsafe { libc::send(self.raw(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Reads what is waiting, once, and hands every announcement to `take`.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn receive(&mut self, take: impl FnMut(Message<'_>)) -> io::Result<Received> {
        self.receive_some(None, false, take)
    }

    /// As [`Socket::receive`], and only what answers the latest request: a refusal of an earlier
    /// one, which nobody waited for, says nothing about this one.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn receive_answer(
        &mut self,
        dumped: bool,
        take: impl FnMut(Message<'_>),
    ) -> io::Result<Received> {
        self.receive_some(Some(self.sequence), dumped, take)
    }

    fn receive_some(
        &mut self,
        answering: Option<u32>,
        dumped: bool,
        mut take: impl FnMut(Message<'_>),
    ) -> io::Result<Received> {
        let length = match self.read() {
            Ok(length) => length,
            Err(error) => {
                return match error.raw_os_error() {
                    Some(libc::EAGAIN) => Ok(Received::Nothing),
                    Some(libc::EINTR) => Ok(Received::Messages(0)),
                    Some(libc::ENOBUFS) => Ok(Received::Overrun),
                    _ => Err(error),
                };
            }
        };
        let mut count = 0;
        for message in messages(&self.buffer[..length], answering, dumped) {
            count += 1;
            take(message);
        }
        Ok(Received::Messages(count))
    }

    fn read(&mut self) -> io::Result<usize> {
        // SAFETY: pointer and length describe `self.buffer`.
        let length = unsafe {
            libc::recv(
                self.raw(),
                self.buffer.as_mut_ptr().cast(),
                self.buffer.len(),
                0,
            )
        };
        if length < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(length as usize)
        }
    }

    /// Waits until something can be read, at most for so long; says whether there is.
    pub fn wait(&self, longest: Duration) -> bool {
        let longest = Timespec::try_from(longest).ok();
        let mut polls = [PollFd::new(&self.fd, PollFlags::IN)];
        event::poll(&mut polls, longest.as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Asks for a dump and hands every message of it to `take`.
    ///
    /// # Errors
    /// When the kernel refuses the request, or says nothing for five seconds.
    pub fn dump(
        &mut self,
        kind: u16,
        body: &[u8],
        mut take: impl FnMut(Message<'_>),
    ) -> io::Result<Dumped> {
        self.request(kind, libc::NLM_F_DUMP as u16, body)?;
        let mut state = Dumped::Whole;
        loop {
            match self.dump_piece(&mut state, &mut take)? {
                Piece::Last => return Ok(state),
                Piece::More => {}
                Piece::None => self.wait_for_answer()?,
            }
        }
    }

    /// Reads the next piece of the dump that was asked for, at most [`READ_SIZE`] bytes, and notes
    /// in `state` how it goes. Never waits.
    ///
    /// # Errors
    /// When the kernel refuses the dump, or the socket is broken.
    pub fn dump_piece(
        &mut self,
        state: &mut Dumped,
        mut take: impl FnMut(Message<'_>),
    ) -> io::Result<Piece> {
        let mut done = false;
        let mut refusal = None;
        let received = self.receive_answer(true, |message| {
            if message.flags & NLM_F_DUMP_INTR != 0 {
                *state = Dumped::Interrupted;
            }
            match i32::from(message.kind) {
                libc::NLMSG_DONE => {
                    done = true;
                    refusal = refusal.take().or_else(|| refused(message.payload));
                }
                libc::NLMSG_ERROR => {
                    done = true;
                    refusal = refused(message.payload);
                }
                _ => take(message),
            }
        })?;
        if let Some(error) = refusal {
            return Err(error);
        }
        if received == Received::Overrun {
            *state = Dumped::Interrupted;
        }
        Ok(match received {
            _ if done => Piece::Last,
            Received::Nothing => Piece::None,
            Received::Messages(_) | Received::Overrun => Piece::More,
        })
    }

    /// Waits for the next piece of a dump, which the kernel has ready at once unless something is
    /// wrong.
    ///
    /// # Errors
    /// When it says nothing for five seconds.
    pub fn wait_for_answer(&self) -> io::Result<()> {
        if self.wait(Duration::from_secs(5)) {
            return Ok(());
        }
        let what = "the kernel does not answer a dump";
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    }
}

/// The error in the body of `NLMSG_ERROR` or `NLMSG_DONE`: a negative errno, 0 for none.
pub fn refused(payload: &[u8]) -> Option<io::Error> {
    let code = payload
        .first_chunk()
        .map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    (code < 0).then(|| io::Error::from_raw_os_error(-code))
}

/// The messages in a buffer, or those that answer one request; stops at the first that does not
/// fit.
fn messages(
    mut rest: &[u8],
    answering: Option<u32>,
    dumped: bool,
) -> impl Iterator<Item = Message<'_>> {
    let all = std::iter::from_fn(move || {
        let header = rest.first_chunk::<HEADER>()?;
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let payload = rest.get(HEADER..length)?;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let flags = u16::from_ne_bytes([header[6], header[7]]);
        let sequence = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        let message = Message {
            kind,
            flags,
            payload,
            dumped,
            living_only: false,
        };
        Some((sequence, message))
    });
    all.filter(move |(sequence, _)| answering.is_none_or(|answering| answering == *sequence))
        .map(|(_, message)| message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_nobody_waited_for_does_not_end_the_next_dump() {
        let mut socket = Socket::open(libc::NETLINK_ROUTE, &[]).unwrap();
        let interface_0 = [0; 12];
        socket.request(libc::RTM_NEWNEIGH, 0, &interface_0).unwrap();
        socket.wait(Duration::from_secs(1));
        let mut links = 0;
        let dumped = socket.dump(libc::RTM_GETLINK, &[0; 16], |_| links += 1);
        assert_eq!(dumped.unwrap(), Dumped::Whole);
        assert!(links > 0, "every network namespace has lo");
    }
}
