//! An attachment goes from one process to another while its program runs.
//!
//! A link lives as long as a descriptor of it, in whatever process. So who is to hold it gets a
//! copy of the descriptor first, and who held it lets go afterwards: the interface never is
//! without.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;

use super::{Attachment, Hold, Mode};

impl Attachment {
    /// One that another process holds: dropping it detaches nothing, until
    /// [`Attachment::receive`].
    pub fn elsewhere(interface: &str, ifindex: u32, mode: Mode) -> Self {
        Self {
            interface: interface.to_owned(),
            ifindex,
            mode,
            fallback: None,
            hold: Hold::Elsewhere,
            only: None,
        }
    }

    /// What holds it, for another process: the link, and at tc what says that it is the only one of
    /// its name. `None` when no link does.
    pub fn descriptors(&self) -> Option<(BorrowedFd<'_>, Option<BorrowedFd<'_>>)> {
        let Hold::Link(link) = &self.hold else {
            return None;
        };
        Some((link.as_fd(), self.only.as_ref().map(AsFd::as_fd)))
    }

    /// Holds it from now on, by copies of [`Attachment::descriptors`].
    pub fn receive(&mut self, link: OwnedFd, only: Option<OwnedFd>) {
        self.hold = Hold::Link(link);
        self.only = only.map(UnixDatagram::from);
    }

    /// Leaves it to whoever has copies of its descriptors; when nobody has, it is detached.
    pub fn let_go(&mut self) {
        self.hold = Hold::Elsewhere;
        self.only = None;
    }
}
