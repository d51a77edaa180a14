//! One core's way from records to blocks: perf's records and the records of the switches, merged by
//! time.
//!
//! Both are written on the same core with the same clock. Perf's ring is read after the other, so
//! it holds everything that came before the switches just read; what it holds beyond the moment at
//! which reading began waits for the next turn.

use super::catalogue::{Decoders, Point, common};
use super::stacks::Stacks;
use super::switches::Switches;
use super::unwind::Copied;
use super::witness::Witness;
use crate::event::{Context, Event, Interrupt, Kind, Tid};
use crate::format::write::CoreWriter;

/// An event without its core.
type Heard = (u64, Tid, Kind);

/// See the file's beginning.
#[derive(Default)]
pub(crate) struct Ear {
    pub(crate) writer: CoreWriter,
    cpu: u16,
    last: u64,
    current: Tid,
    /// Interrupts that have begun and not ended.
    inside: Vec<Interrupt>,
    perf: Vec<Heard>,
    switches: Vec<Heard>,
    /// The call chain at hand, kept for its memory.
    chain: Vec<u64>,
    told_by_perf: u64,
    told_of_switches: u64,
}

impl Ear {
    /// The ear of core `cpu`.
    pub(crate) fn new(cpu: u16) -> Self {
        Self {
            writer: CoreWriter::new(cpu),
            cpu,
            ..Self::default()
        }
    }

    /// Takes what the programs wrote.
    pub(crate) fn switches(&mut self, switches: &Switches) {
        let heard = &mut self.switches;
        let lost = switches.take(self.cpu, |time, tid, kind| heard.push((time, tid, kind)));
        if lost > self.told_of_switches {
            let (time, tid) =
                heard
                    .last()
                    .map_or((self.last, self.current), |(time, tid, kind)| match kind {
                        Kind::Switch { next, .. } => (*time, *next),
                        _ => (*time, *tid),
                    });
            heard.push((time, tid, dropped(lost - self.told_of_switches)));
            self.told_of_switches = lost;
        }
    }

    /// A perf sample's body: time, call chain (count, addresses), size of the tracepoint's record,
    /// record, and perhaps what was copied of the thread.
    pub(crate) fn sample(
        &mut self,
        body: &[u8],
        decoders: &Decoders,
        stacks: &mut Stacks,
        witness: &mut Witness,
    ) {
        let (words, _) = body.as_chunks::<8>();
        let long = |at: usize| words.get(at).copied().map(u64::from_le_bytes);
        // A tracepoint's record follows the chain and its own length.
        let parts = || {
            let (time, frames) = (long(0)?, usize::try_from(long(1)?).ok()?);
            let rest = body.get(frames.checked_mul(8)?.checked_add(16)?..)?;
            let (size, raw) = rest.split_first_chunk()?;
            let size = usize::try_from(u32::from_le_bytes(*size)).ok()?;
            let (raw, end) = raw.split_at_checked(size)?;
            let (id, flags, tid) = common(raw)?;
            let copied = Copied::parse(end);
            Some((time, frames, raw, copied, flags, tid, decoders.get(&id)?))
        };
        let Some((time, frames, raw, copied, flags, tid, decoder)) = parts() else {
            return;
        };
        let kind = decoder.kind(raw, flags);
        self.perf.push((time, tid, kind));
        match kind {
            Kind::FutexEnter(call) if call.operation.waits() => witness.waits(tid, call.address),
            Kind::LockBegin { address, .. } => witness.kernel_lock(address),
            _ => {}
        }
        if frames == 0 && copied.is_none() {
            return;
        }
        let mut chain = std::mem::take(&mut self.chain);
        chain.clear();
        chain.extend((0..frames).filter_map(|index| long(2 + index)));
        if let Some(copied) = copied {
            witness.unwind(tid, &copied, |frame| chain.push(frame));
        }
        if decoder.point == Point::Begin(Interrupt::Timer) {
            // The tick is the sample of the running code.
            if tid != 0
                && let Some(stack) = stacks.bounded(tid, &chain)
            {
                self.perf.push((time, tid, Kind::Sample(stack)));
            }
        } else {
            let stack = stacks.number(tid, &chain);
            self.perf.push((time, tid, Kind::Stack(stack)));
        }
        self.chain = chain;
    }

    /// A perf loss record's body: the event's id, the number of events lost.
    pub(crate) fn lost(&mut self, body: &[u8]) {
        if let Some([_, count, ..]) = body.as_chunks().0.get(..2) {
            let count = u64::from_le_bytes(*count);
            self.told_by_perf += count;
            let last = self.perf.last();
            let (time, tid) =
                last.map_or((self.last, self.current), |(time, tid, _)| (*time, *tid));
            self.perf.push((time, tid, dropped(count)));
        }
    }

    /// Writes what was heard up to `until` in the order of time.
    pub(crate) fn merge(&mut self, until: u64) {
        let (mut perf, mut switches) = (
            std::mem::take(&mut self.perf),
            std::mem::take(&mut self.switches),
        );
        let mut told = 0;
        for (time, tid, kind) in switches.drain(..) {
            while let Some((earlier, tid, kind)) = perf.get(told).filter(|(at, ..)| *at <= time) {
                self.push(*earlier, *tid, *kind);
                told += 1;
            }
            self.push(time, tid, kind);
        }
        while let Some((time, tid, kind)) = perf.get(told).filter(|(at, ..)| *at <= until) {
            self.push(*time, *tid, *kind);
            told += 1;
        }
        perf.drain(..told);
        self.perf = perf;
        self.switches = switches;
    }

    /// The core it listens to.
    pub(crate) fn cpu(&self) -> u16 {
        self.cpu
    }

    /// Adds something that is no event of the kernel's.
    pub(crate) fn now(&mut self, time: u64, kind: Kind) {
        self.push(self.last.max(time), self.current, kind);
    }

    /// Tells the losses that no record told of and gives the sum of all; `by_perf` is the kernel's
    /// count.
    pub(crate) fn all_lost(&mut self, by_perf: u64) -> u64 {
        let total = by_perf.max(self.told_by_perf);
        if total > self.told_by_perf {
            self.now(self.last, dropped(total - self.told_by_perf));
        }
        total + self.told_of_switches
    }

    fn push(&mut self, time: u64, tid: Tid, mut kind: Kind) {
        self.last = self.last.max(time);
        self.current = tid;
        match &mut kind {
            Kind::Switch { next, .. } => {
                self.current = *next;
                self.inside.clear();
            }
            Kind::InterruptBegin(interrupt) => self.inside.push(*interrupt),
            Kind::InterruptEnd(interrupt) => {
                if let Some(at) = self.inside.iter().rposition(|inside| inside == interrupt) {
                    self.inside.truncate(at);
                }
            }
            Kind::Waking { by, .. } if *by == Context::Thread => {
                // The programs do not tell who interrupts; perf's record does. It may be silent
                // about an idle core, but an idle thread wakes nobody by itself.
                *by = match self.inside.last() {
                    None if tid == 0 => Context::Hardirq,
                    None => Context::Thread,
                    Some(Interrupt::Soft(_)) => Context::Softirq,
                    Some(_) => Context::Hardirq,
                };
            }
            _ => {}
        }
        self.writer.push(&Event {
            time,
            cpu: self.cpu,
            tid,
            kind,
        });
    }
}

fn dropped(events: u64) -> Kind {
    Kind::Lost(events.min(u64::from(u32::MAX)) as u32)
}

#[cfg(test)]
#[path = "../../tests/unit/record_ear.rs"]
mod tests;
