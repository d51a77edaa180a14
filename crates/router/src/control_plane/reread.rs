//! Reading the kernel's tables again, a piece at a time: announcements are taken in between any two
//! pieces, so that no route change waits for it, however many routes there are.
//!
//! A thread asks the kernel, because that answers some of it only when nobody else changes links,
//! which may take seconds. First come links, addresses, rules, neighbours and nexthop objects,
//! because routes refer to them, and the sweep of what of these was not seen; then the routes; then
//! their sweep, a part of the tables at a time. What the mirror makes of it: [`super::mirror`],
//! `round`.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Instant;

use host::netlink::{Dumped, Piece, ROUTE, Socket};

use super::mirror::{Mirror, Swept};
use super::model::Event;
use super::netlink::dump::Dump;

/// Pieces that may wait to be taken in: some hundred events each.
const AHEAD: usize = 16;

/// A re-read under way.
#[derive(Debug)]
pub(super) struct Reread {
    /// Why.
    pub(super) reason: &'static str,
    /// Since when.
    pub(super) began: Instant,
    pieces: Receiver<io::Result<Buffer>>,
    /// Is there nothing to take in yet?
    pub(super) waits: bool,
    /// Messages taken in so far.
    pub(super) events: u64,
    has_come_to_routes: bool,
    /// The next part to be swept, once everything is read.
    sweep: Option<usize>,
    swept: Swept,
}

/// One piece of a dump.
#[derive(Debug)]
struct Buffer {
    events: Vec<Event>,
    /// Do only routes follow?
    has_come_to_routes: bool,
    /// Was everything so far of one piece?
    outcome: Dumped,
    is_last: bool,
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
    /// Begins, in the calling thread's network namespace. Everything announced so far should have
    /// been taken in.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub(super) fn begin(reason: &'static str, mirror: &mut Mirror) -> io::Result<Self> {
        let (sender, pieces) = sync_channel(AHEAD);
        let thread = std::thread::Builder::new().name("reread".to_owned());
        thread.spawn(move || {
            if let Err(error) = read(&sender) {
                // Who asked may have begun anew.
                let _unwanted = sender.send(Err(error));
            }
        })?;
        mirror.begin_round();
        Ok(Self {
            reason,
            began: Instant::now(),
            pieces,
            waits: false,
            events: 0,
            has_come_to_routes: false,
            sweep: None,
            swept: Swept::default(),
        })
    }

    /// Does the next step, if there is one yet: takes in at most one buffer of the kernel's, or
    /// sweeps one part.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn advance(&mut self, mirror: &mut Mirror) -> io::Result<Progress> {
        let piece = self.pieces.try_recv();
        self.waits = self.sweep.is_none() && matches!(piece, Err(TryRecvError::Empty));
        match (self.sweep, piece) {
            (Some(part), _) => Ok(self.sweep(part, mirror)),
            (None, Ok(piece)) => Ok(self.take(piece?, mirror)),
            (None, Err(TryRecvError::Empty)) => Ok(Progress::Under),
            (None, Err(TryRecvError::Disconnected)) => Err(ended()),
        }
    }

    /// As [`Reread::advance`], and waits for a step.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn wait(&mut self, mirror: &mut Mirror) -> io::Result<Progress> {
        if let Some(part) = self.sweep {
            return Ok(self.sweep(part, mirror));
        }
        let piece = self.pieces.recv().map_err(|_| ended())?;
        Ok(self.take(piece?, mirror))
    }

    fn take(&mut self, piece: Buffer, mirror: &mut Mirror) -> Progress {
        self.events += piece.events.len() as u64;
        for event in piece.events {
            mirror.apply_dumped(event);
        }
        let is_whole = piece.outcome == Dumped::Whole;
        if piece.has_come_to_routes && !self.has_come_to_routes && is_whole {
            self.swept.others = mirror.sweep_surroundings();
        }
        self.has_come_to_routes = piece.has_come_to_routes;
        match (piece.is_last, is_whole) {
            (true, false) => return Progress::Interrupted,
            (true, true) => self.sweep = Some(0),
            (false, _) => {}
        }
        Progress::Under
    }

    fn sweep(&mut self, part: usize, mirror: &mut Mirror) -> Progress {
        self.sweep = Some(part + 1);
        match mirror.sweep_routes(part) {
            Some(routes) => {
                self.swept.routes += routes;
                Progress::Under
            }
            None => Progress::Done(self.swept),
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread that reads the kernel's tables ended")
}

/// Reads everything, and hands it over.
fn read(pieces: &SyncSender<io::Result<Buffer>>) -> io::Result<()> {
    let (mut socket, mut dump) = (Socket::open(ROUTE, &[])?, Dump::new(false));
    loop {
        let mut events = Vec::new();
        let piece = dump.piece(&mut socket, |event| events.push(event))?;
        if piece == Piece::None {
            // The kernel answers while it is asked, so this is no wait in practice.
            socket.wait_for_answer()?;
            continue;
        }
        let is_last = piece == Piece::Last;
        let buffer = Buffer {
            events,
            has_come_to_routes: dump.has_come_to_routes(),
            outcome: dump.outcome(),
            is_last,
        };
        if pieces.send(Ok(buffer)).is_err() || is_last {
            return Ok(());
        }
    }
}
