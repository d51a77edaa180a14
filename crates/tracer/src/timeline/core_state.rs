//! What one core is believed to do.

use super::{Cause, Handler, Run, UNKNOWN};
use crate::event::{Context, Interrupt, Tid};

/// One core's rows so far, its occupant and the interrupts on top.
pub(super) struct CoreState {
    pub(super) cpu: u16,
    pub(super) tid: Tid,
    pub(super) since: u64,
    pub(super) runs: Vec<Run>,
    pub(super) handlers: Vec<Handler>,
    pub(super) stack: Vec<(Interrupt, bool)>,
    pub(super) handler_since: u64,
}

impl CoreState {
    /// A core of which nothing is known at `start`.
    pub(super) fn new(cpu: u16, start: u64) -> Self {
        Self {
            cpu,
            tid: UNKNOWN,
            since: start,
            runs: Vec::new(),
            handlers: Vec::new(),
            stack: Vec::new(),
            handler_since: start,
        }
    }

    /// From `time` on `tid` runs. When the occupant until now was `known`, the stretch is its own,
    /// otherwise unknown.
    pub(super) fn occupy(&mut self, time: u64, tid: Tid, known: bool) {
        if time > self.since {
            let tid = if known { self.tid } else { UNKNOWN };
            self.runs.push(Run {
                start: self.since,
                end: time,
                tid,
            });
            self.since = time;
        }
        self.tid = tid;
    }

    /// Ends the innermost handler's span.
    pub(super) fn close_handler(&mut self, time: u64) {
        if let Some((what, first)) = self.stack.last_mut()
            && time > self.handler_since
        {
            self.handlers.push(Handler {
                start: self.handler_since,
                end: time,
                what: *what,
                first: *first,
            });
            *first = false;
        }
    }

    /// What an interrupt on this core that wakes a thread stands for.
    pub(super) fn cause(&self, by: Context) -> Cause {
        const TIMER: u8 = 1;
        const NET_TX: u8 = 2;
        const NET_RX: u8 = 3;
        const BLOCK: u8 = 4;
        const HRTIMER: u8 = 8;
        if by == Context::Thread {
            return Cause::Thread;
        }
        match self.stack.last() {
            Some((Interrupt::Timer | Interrupt::Soft(TIMER | HRTIMER), _)) => Cause::Timer,
            Some((Interrupt::Soft(NET_RX | NET_TX), _)) => Cause::Network,
            Some((Interrupt::Soft(BLOCK), _)) => Cause::Disk,
            Some((Interrupt::Line(_), _)) => Cause::Device,
            None if by == Context::Hardirq => Cause::Timer,
            _ => Cause::Unknown,
        }
    }
}
