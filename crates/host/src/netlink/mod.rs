//! A netlink socket with this project's policy: a large receive buffer, strict dumps, dumps
//! repeated when the kernel says that they were not of one piece, and lost messages (`ENOBUFS`)
//! reported instead of hidden.

mod attributes;
pub mod routes;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
    sockopt,
};

pub use self::attributes::{append, attributes, number, short, text};
use crate::process::checked;
pub use rustix::net::Protocol;
pub use rustix::net::netlink::{GENERIC, NETFILTER, XFRM};

/// The protocol of links, addresses and routes, which is number 0.
pub const ROUTE: Option<Protocol> = None;

/// Bytes asked of the kernel for messages not yet read: about a quarter of a million route changes.
const RECEIVE_BUFFER: usize = 64 << 20;
/// The kernel fills at most 32 KiB for one read of a dump.
pub const READ_SIZE: usize = 64 << 10;
const HEADER: usize = 16;
const NLM_F_DUMP_INTR: u16 = 0x10;

/// A netlink socket.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    buffer: Vec<u8>,
    sequence: u32,
}

/// One message without its header.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Its kind, such as `RTM_*`.
    pub kind: u16,
    /// `NLM_F_*`.
    pub flags: u16,
    /// What follows the header.
    pub payload: &'a [u8],
    /// It is part of a dump, where routes come in the kernel's order.
    pub dumped: bool,
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
    /// A socket of a netlink protocol in the calling thread's network namespace, listening to
    /// `groups` (1 to 32).
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn open(protocol: Option<Protocol>, groups: &[u32]) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        // Beyond the system's limit with CAP_NET_ADMIN, else up to it.
        if sockopt::set_socket_recv_buffer_size_force(&fd, RECEIVE_BUFFER).is_err() {
            sockopt::set_socket_recv_buffer_size(&fd, RECEIVE_BUFFER)?;
        }
        check_strictly(&fd)?;
        // The kernel chooses the port number: announcements pass by a socket without one.
        let groups = groups.iter().fold(0, |set, group| set | 1 << (group - 1));
        bind(&fd, &SocketAddrNetlink::new(0, groups))?;
        Ok(Self {
            fd,
            buffer: vec![0; READ_SIZE],
            sequence: 1,
        })
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
        send(&self.fd, &message, SendFlags::empty())?;
        Ok(())
    }

    /// Sends a request and reads the first message that answers it, which may be a
    /// [refusal](refused).
    ///
    /// # Errors
    /// When the kernel says nothing for five seconds, or the socket is broken.
    pub fn ask<T>(
        &mut self,
        kind: u16,
        flags: u16,
        body: &[u8],
        read: impl Fn(Message<'_>) -> T,
    ) -> io::Result<T> {
        self.request(kind, flags, body)?;
        let mut answer = None;
        loop {
            self.wait_for_answer()?;
            self.receive_answer(false, |message| {
                answer.get_or_insert_with(|| read(message));
            })?;
            if let Some(answer) = answer.take() {
                return Ok(answer);
            }
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
        let length = match recv(&self.fd, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            Err(Errno::INTR) => return Ok(Received::Messages(0)),
            Err(Errno::NOBUFS) => return Ok(Received::Overrun),
            Err(error) => return Err(error.into()),
        };
        let mut count = 0;
        for message in messages(&self.buffer[..length], answering, dumped) {
            count += 1;
            take(message);
        }
        Ok(Received::Messages(count))
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

/// Has the kernel refuse dumps whose headers it would otherwise not look at, and leave out what
/// they do not ask for.
fn check_strictly(socket: &OwnedFd) -> io::Result<()> {
    const SOL_NETLINK: libc::c_int = 270;
    const NETLINK_GET_STRICT_CHK: libc::c_int = 12;
    let on: libc::c_int = 1;
    // SAFETY: the pointer is to `on`, whose size is given and which lives during the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            SOL_NETLINK,
            NETLINK_GET_STRICT_CHK,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    checked(result).map(drop)
}

/// The error in the body of `NLMSG_ERROR` or `NLMSG_DONE`: a negative errno, 0 for none.
pub fn refused(payload: &[u8]) -> Option<io::Error> {
    let code = payload
        .first_chunk()
        .map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    (code < 0).then(|| io::Error::from_raw_os_error(-code))
}

/// The messages in a buffer, or those that answer the request of this number; stops at the first
/// that does not fit.
pub fn messages(
    mut rest: &[u8],
    answering: Option<u32>,
    dumped: bool,
) -> impl Iterator<Item = Message<'_>> {
    let all = std::iter::from_fn(move || {
        let header = rest.first_chunk::<HEADER>()?;
        let length = number(header) as usize;
        let payload = rest.get(HEADER..length)?;
        let (kind, flags) = (short(&header[4..]), short(&header[6..]));
        let sequence = number(&header[8..]);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        let message = Message {
            kind,
            flags,
            payload,
            dumped,
        };
        Some((sequence, message))
    });
    all.filter(move |(sequence, _)| answering.is_none_or(|answering| answering == *sequence))
        .map(|(_, message)| message)
}

#[cfg(test)]
#[path = "../../tests/unit/netlink.rs"]
mod tests;
