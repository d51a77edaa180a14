//! What is known of one part: as the latest look found it, and what was announced as added since.
//! What was announced as gone stays until the next look: a port then is the kernel's for longer
//! than it must be, never for less.

use std::io;

use host::netlink::{Message, Received, Socket};

use super::{Finding, Treatment, unread};

/// Datagrams read in one turn at most; the next turn reads on.
const TURN: usize = 256;

/// Pieces of the kernel's state, as messages say them.
pub(super) trait State: Default {
    /// Takes in an announcement. True when it says that something of this changed.
    fn hear(&mut self, message: Message<'_>) -> bool;
    /// And all that the other has.
    fn join(&mut self, other: Self);
}

/// One part.
#[derive(Debug)]
pub(super) struct Known<S> {
    /// None when this kernel has nobody to announce anything.
    socket: Option<Socket>,
    pub(super) state: S,
    /// Announced since the look under way began, which may have seen it or not.
    late: S,
    /// Why nobody knows.
    unknown: Option<Finding>,
    /// Announcements were lost since the look under way began.
    lost: bool,
    is_wanted: bool,
    name: &'static str,
    treatment: Treatment,
}

impl<S: State> Known<S> {
    pub(super) fn new(name: &'static str, treatment: Treatment, socket: Option<Socket>) -> Self {
        Self {
            socket,
            state: S::default(),
            late: S::default(),
            unknown: None,
            lost: false,
            is_wanted: true,
            name,
            treatment,
        }
    }

    pub(super) fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }

    /// Takes in what was announced. True when there was something.
    pub(super) fn hear(&mut self) -> bool {
        let Some(mut socket) = self.socket.take() else {
            return false;
        };
        let mut heard = false;
        for _ in 0..TURN {
            let lost = match socket.receive(|message| heard |= self.take(message)) {
                Ok(Received::Messages(_)) => continue,
                Ok(Received::Nothing) => break,
                Ok(Received::Overrun) => io::Error::other("announcements were lost"),
                Err(error) => error,
            };
            heard = true;
            self.lose(&lost);
        }
        self.socket = Some(socket);
        heard
    }

    fn take(&mut self, message: Message<'_>) -> bool {
        let heard = self.state.hear(message);
        self.late.hear(message);
        self.is_wanted |= heard;
        heard
    }

    fn lose(&mut self, error: &io::Error) {
        self.lost = true;
        self.fail(error);
    }

    /// The next look is to look at this part.
    pub(super) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// A look begins. Is it to look at this part?
    pub(super) fn begin(&mut self) -> bool {
        (self.late, self.lost) = (S::default(), false);
        std::mem::take(&mut self.is_wanted)
    }

    /// The look is over and found this, if it looked at this part.
    pub(super) fn end(&mut self, seen: Option<io::Result<S>>) {
        match seen {
            None => {}
            Some(Ok(state)) => {
                self.state = state;
                self.state.join(std::mem::take(&mut self.late));
                if !self.lost {
                    self.unknown = None;
                }
            }
            Some(Err(error)) => self.fail(&error),
        }
    }

    /// Nobody could look.
    pub(super) fn fail(&mut self, error: &io::Error) {
        self.is_wanted = true;
        self.unknown = Some(unread(self.name, error, self.treatment));
    }

    /// Why nobody knows, if so.
    pub(super) fn unknown(&self) -> Option<&Finding> {
        self.unknown.as_ref()
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/known.rs"]
mod tests;
