//! Messages with descriptors between two processes.

use std::fmt::Display;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How long the other process may take to read a message.
const PATIENCE: Duration = Duration::from_secs(5);
/// Descriptors beside one message, at most (`SCM_MAX_FD`).
const DESCRIPTORS: usize = 253;
/// A longer message is none of ours, in bytes.
const LONGEST: usize = 16 << 20;

/// One end. Descriptors that nobody takes are closed.
#[derive(Debug)]
pub struct Channel {
    stream: UnixStream,
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Channel {
    /// Over this stream, of which nothing was read that belongs to a message.
    ///
    /// # Errors
    /// The system's.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            bytes: Vec::new(),
            descriptors: Vec::new(),
        })
    }

    /// Number of the process at the other end when it connected; 0 when that is not known.
    pub fn process(&self) -> u32 {
        let peer = rustix::net::sockopt::socket_peercred(&self.stream);
        peer.map_or(0, |peer| peer.pid.as_raw_nonzero().get().cast_unsigned())
    }

    /// Sends a message and copies of descriptors.
    ///
    /// # Errors
    /// When the other process has ended, or does not read.
    pub fn say(&self, what: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::other("too many descriptors for one message"));
        }
        let sent = sendmsg(
            &self.stream,
            &[IoSlice::new(&line)],
            &mut beside,
            SendFlags::NOSIGNAL,
        )?;
        (&self.stream).write_all(&line[sent..])
    }

    /// Says why there is no further message.
    pub fn refuse(&self, error: impl Display) {
        // It may have ended.
        let _gone = self.say(&json!({ "error": error.to_string() }), &[]);
    }

    /// The next message with its descriptors, if all of it is there.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the other process has ended; what it says in the place
    /// of a message; when it is not the message that is wanted.
    pub fn heard<T: DeserializeOwned>(&mut self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        loop {
            if let Some(end) = self.bytes.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                let descriptors = std::mem::take(&mut self.descriptors);
                return Ok(Some((message(&line)?, descriptors)));
            }
            if !self.read()? {
                return Ok(None);
            }
        }
    }

    /// The next message with its descriptors.
    ///
    /// # Errors
    /// As [`Channel::heard`], and [`io::ErrorKind::TimedOut`].
    pub fn hear<T: DeserializeOwned>(&mut self, limit: Duration) -> io::Result<(T, Vec<OwnedFd>)> {
        let end = Instant::now() + limit;
        loop {
            if let Some(heard) = self.heard()? {
                return Ok(heard);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let mut polls = [PollFd::new(&self.stream, PollFlags::IN)];
            match poll(&mut polls, Timespec::try_from(left).ok().as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes in what is there. False when nothing is.
    fn read(&mut self) -> io::Result<bool> {
        if self.bytes.len() > LONGEST {
            return Err(io::Error::other("a message without an end"));
        }
        let mut buffer = vec![0; 64 << 10];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let mut into = [IoSliceMut::new(&mut buffer)];
        let length = match recvmsg(&self.stream, &mut into, &mut beside, flags) {
            Ok(message) => message.bytes,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.bytes.extend_from_slice(&buffer[..length]);
        Ok(true)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl From<Channel> for OwnedFd {
    fn from(channel: Channel) -> Self {
        channel.stream.into()
    }
}

fn message<T: DeserializeOwned>(line: &[u8]) -> io::Result<T> {
    let value: Value = serde_json::from_slice(line)?;
    match value.get("error").and_then(Value::as_str) {
        Some(error) => Err(io::Error::other(error.to_owned())),
        None => Ok(serde_json::from_value(value)?),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/channel.rs"]
mod tests;
