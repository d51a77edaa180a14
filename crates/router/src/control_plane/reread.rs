//! Reading the kernel's tables again, a piece at a time: announcements are taken in between any two
//! pieces, so that no route change waits for it, however many routes there are.
//!
//! First links, addresses, rules, neighbours and nexthop objects, in one go, because routes refer
//! to them; then the routes, a buffer at a time; then the sweep of what was not seen, a part of the
//! tables at a time. What the mirror makes of it: [`super::mirror`], `round`.

use std::io;
use std::time::Instant;

use host::netlink::{Dumped, Piece, ROUTE, Socket};

use super::mirror::{Mirror, Swept};
use super::netlink::dump::Dump;

/// A re-read under way.
#[derive(Debug)]
pub(super) struct Reread {
    /// Why.
    pub(super) reason: &'static str,
    /// Since when.
    pub(super) began: Instant,
    socket: Socket,
    dump: Dump,
    /// The next part to be swept, once everything is read.
    sweep: Option<usize>,
    swept: Swept,
}

/// What a re-read has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is more to read or to sweep.
    Under,
    /// The dump was complete; this is what nobody had announced.
    Done(Swept),
    /// The kernel's tables changed too fast for a dump of one piece: nothing was removed.
    Interrupted,
}

impl Reread {
    /// Begins, on a socket of its own in the calling thread's network namespace, and takes in
    /// everything but routes. Everything announced so far should have been taken in.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn begin(reason: &'static str, mirror: &mut Mirror) -> io::Result<Self> {
        let mut reread = Self {
            reason,
            began: Instant::now(),
            socket: Socket::open(ROUTE, &[])?,
            dump: Dump::new(false),
            sweep: None,
            swept: Swept::default(),
        };
        mirror.begin_round();
        while !reread.dump.has_come_to_routes() {
            reread.piece(mirror)?;
        }
        if reread.dump.outcome() == Dumped::Whole {
            reread.swept.others = mirror.sweep_surroundings();
        }
        Ok(reread)
    }

    /// Messages taken in so far.
    pub(super) fn events(&self) -> u64 {
        self.dump.events()
    }

    /// Does the next step: at most one buffer of routes, or the sweep of one part.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn advance(&mut self, mirror: &mut Mirror) -> io::Result<Progress> {
        let Some(part) = self.sweep else {
            if self.piece(mirror)? == Piece::Last {
                if self.dump.outcome() == Dumped::Interrupted {
                    return Ok(Progress::Interrupted);
                }
                self.sweep = Some(0);
            }
            return Ok(Progress::Under);
        };
        self.sweep = Some(part + 1);
        Ok(match mirror.sweep_routes(part) {
            Some(routes) => {
                self.swept.routes += routes;
                Progress::Under
            }
            None => Progress::Done(self.swept),
        })
    }

    fn piece(&mut self, mirror: &mut Mirror) -> io::Result<Piece> {
        let take = |event| mirror.apply_dumped(event);
        let piece = self.dump.piece(&mut self.socket, take)?;
        if piece == Piece::None {
            // The kernel answers while it is asked, so this is no wait in practice.
            self.socket.wait_for_answer()?;
        }
        Ok(piece)
    }
}
