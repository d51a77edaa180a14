//! The recorder's thread: empties the rings, turns records into events, and writes them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use perf_event_open_sys::bindings::{PERF_RECORD_LOST, PERF_RECORD_SAMPLE};

use super::catalogue::{Decoder, common};
use super::session::Sink;
use super::sources::Core;
use super::witness::Witness;
use super::{Options, RecordError, machine, side};
use crate::event::{Event, Kind, TaskChange, Tid};
use crate::format::write::{CoreWriter, FileWriter};
use crate::trace::Trailer;

/// How long the thread sleeps unless a ring is half full.
const TICK_MILLISECONDS: i32 = 100;

/// The thread's belongings.
pub(crate) struct Drain {
    cores: Vec<Core>,
    ears: Vec<Ear>,
    decoders: Vec<Option<Decoder>>,
    file: FileWriter<Sink>,
    tasks: Vec<TaskChange>,
    stacks: Stacks,
    witness: Witness,
    output: String,
}

/// Every tracepoint's record begins with eight common bytes.
const SHORTEST_TRACEPOINT: usize = 8;
/// Distinct code places of samples that are kept; what a long run has more goes unsampled.
const SAMPLED_PLACES: usize = 16_384;

/// What is left of it when the recording has ended.
pub(crate) struct Drained {
    pub(crate) trailer: Trailer,
    pub(crate) file: FileWriter<Sink>,
}

/// One core's way from records to blocks.
struct Ear {
    writer: CoreWriter,
    cpu: u16,
    last: u64,
    current: Tid,
    told_lost: u64,
}

/// Code places, each kept once.
#[derive(Default)]
pub(crate) struct Stacks {
    numbers: HashMap<(Tid, Vec<u64>), u32>,
    /// In the order of their numbers.
    all: Vec<(Tid, Vec<u64>)>,
    /// How many of them the witness has looked at.
    looked_at: usize,
}

impl Stacks {
    fn number(&mut self, tid: Tid, frames: Vec<u64>) -> u32 {
        let next = self.all.len() as u32;
        let key = (tid, frames);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        self.all.push(key.clone());
        self.numbers.insert(key, next);
        next
    }

    /// As [`Stacks::number`], but new places only while there is room.
    fn bounded(&mut self, tid: Tid, frames: Vec<u64>) -> Option<u32> {
        let key = (tid, frames);
        match self.numbers.get(&key) {
            Some(number) => Some(*number),
            None if self.all.len() < SAMPLED_PLACES => Some(self.number(key.0, key.1)),
            None => None,
        }
    }
}

impl Drain {
    pub(crate) fn new(
        cores: Vec<Core>,
        decoders: Vec<Option<Decoder>>,
        file: FileWriter<Sink>,
        options: &Options,
    ) -> Self {
        let ears = cores
            .iter()
            .map(|core| Ear {
                writer: CoreWriter::new(core.cpu),
                cpu: core.cpu,
                last: 0,
                current: 0,
                told_lost: 0,
            })
            .collect();
        let output = options
            .output
            .as_ref()
            .map_or("memory".into(), |path| path.display().to_string());
        Self {
            cores,
            ears,
            decoders,
            file,
            tasks: Vec::new(),
            stacks: Stacks::default(),
            witness: Witness::default(),
            output,
        }
    }

    /// Adds news about threads.
    pub(crate) fn tasks(&mut self, changes: Vec<TaskChange>) {
        self.witness.learn(&changes);
        self.tasks.extend(changes);
    }

    /// Drains until `stop`, then closes the sources and counts what was lost.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> Result<Drained, RecordError> {
        let first = go_first();
        while !stop.load(Ordering::Acquire) {
            self.sleep();
            self.turn()?;
        }
        for core in &self.cores {
            core.disable();
        }
        self.turn()?;
        let mut trailer = Trailer {
            losses_counted: true,
            recorder_threads: vec![first],
            ..Trailer::default()
        };
        for (core, ear) in self.cores.iter().zip(&mut self.ears) {
            let total = core.lost();
            trailer.losses_counted &= total.is_some();
            let total = total.unwrap_or(0).max(ear.told_lost);
            if total > ear.told_lost {
                let missing = (total - ear.told_lost).min(u64::from(u32::MAX)) as u32;
                ear.push(ear.last, ear.current, Kind::Lost(missing));
            }
            trailer.lost.push((core.cpu, total));
        }
        self.write(true)?;
        // What follows is done when the window has closed.
        trailer.recorder_time = thread_time();
        self.witness.finish(&self.stacks.all, &mut trailer);
        Ok(Drained {
            trailer,
            file: self.file,
        })
    }

    fn sleep(&self) {
        let mut polls: Vec<libc::pollfd> = self
            .cores
            .iter()
            .map(|core| libc::pollfd {
                fd: core.owner(),
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        // SAFETY: the array lives through the call and its length is given. Being interrupted only makes the turn early.
        unsafe {
            libc::poll(
                polls.as_mut_ptr(),
                polls.len() as libc::nfds_t,
                TICK_MILLISECONDS,
            )
        };
    }

    fn turn(&mut self) -> Result<(), RecordError> {
        let readings = self.witness.progress();
        let read_at = machine::now();
        for (core, ear) in self.cores.iter_mut().zip(&mut self.ears) {
            let (decoders, tasks, stacks) = (&self.decoders, &mut self.tasks, &mut self.stacks);
            let witness = &mut self.witness;
            core.ring.drain(|kind, body| match kind {
                PERF_RECORD_SAMPLE => ear.sample(body, decoders, stacks, witness),
                PERF_RECORD_LOST => ear.lost(body),
                _ => {
                    if let Some(change) = side::news(kind, body) {
                        witness.learn(std::slice::from_ref(&change));
                        tasks.push(change);
                    }
                }
            });
        }
        if let Some(ear) = self.ears.first_mut() {
            for (point, total) in readings {
                ear.push(
                    ear.last.max(read_at),
                    ear.current,
                    Kind::Progress { point, total },
                );
            }
        }
        self.witness.look();
        if self.stacks.all.len() > self.stacks.looked_at {
            let new = &self.stacks.all[self.stacks.looked_at..];
            let tids: std::collections::BTreeSet<Tid> = new.iter().map(|(tid, _)| *tid).collect();
            self.witness.keep_maps(tids.into_iter());
            self.stacks.looked_at = self.stacks.all.len();
        }
        self.write(false)
    }

    fn write(&mut self, all: bool) -> Result<(), RecordError> {
        let unwritable = |cause| RecordError::Output {
            path: self.output.clone(),
            cause,
        };
        for ear in &mut self.ears {
            if all || ear.writer.is_full() {
                self.file.core(&mut ear.writer).map_err(unwritable)?;
            }
        }
        self.file.tasks(&self.tasks).map_err(unwritable)?;
        self.tasks.clear();
        Ok(())
    }
}

impl Ear {
    /// A sample's body: time, call chain (count, addresses), size of the tracepoint's record, record.
    fn sample(
        &mut self,
        body: &[u8],
        decoders: &[Option<Decoder>],
        stacks: &mut Stacks,
        witness: &mut Witness,
    ) {
        let long = |at: usize| {
            body.get(at..at + 8)
                .and_then(|bytes| bytes.try_into().ok())
                .map(u64::from_le_bytes)
        };
        let (Some(time), Some(frames)) = (long(0), long(8)) else {
            return;
        };
        let Some(raw_at) = usize::try_from(frames)
            .ok()
            .and_then(|frames| frames.checked_mul(8)?.checked_add(20))
        else {
            return;
        };
        let Some(raw) = body.get(raw_at..) else {
            return;
        };
        let chain = |frames: u64| {
            (0..frames as usize)
                .filter_map(|index| long(16 + index * 8))
                .collect::<Vec<_>>()
        };
        if raw.len() < SHORTEST_TRACEPOINT {
            // A sample of the clock has no tracepoint's record.
            if self.current != 0
                && let Some(stack) = stacks.bounded(self.current, chain(frames))
            {
                self.push(time, self.current, Kind::Sample(stack));
            }
            return;
        }
        let Some((id, flags, tid)) = common(raw) else {
            return;
        };
        let Some(decoder) = decoders.get(usize::from(id)).and_then(Option::as_ref) else {
            return;
        };
        let kind = decoder.kind(raw, flags);
        self.push(time, tid, kind);
        match kind {
            Kind::FutexEnter(call) if call.operation.waits() => witness.waits(tid, call.address),
            Kind::LockBegin { address, .. } => witness.kernel_lock(address),
            _ => {}
        }
        if let Kind::Switch { next, .. } = kind {
            self.current = next;
        } else if frames > 0 {
            let stack = stacks.number(tid, chain(frames));
            self.push(time, tid, Kind::Stack(stack));
        }
    }

    /// A loss record's body: the event's id, the number of events lost.
    fn lost(&mut self, body: &[u8]) {
        if let Some(count) = body
            .get(8..16)
            .and_then(|bytes| bytes.try_into().ok())
            .map(u64::from_le_bytes)
        {
            self.told_lost += count;
            self.push(
                self.last,
                self.current,
                Kind::Lost(count.min(u64::from(u32::MAX)) as u32),
            );
        }
    }

    fn push(&mut self, time: u64, tid: Tid, kind: Kind) {
        self.last = self.last.max(time);
        self.current = tid;
        self.writer.push(&Event {
            time,
            cpu: self.cpu,
            tid,
            kind,
        });
    }
}

/// Asks the scheduler to run this thread before others (a late reader loses events) and tells its number.
fn go_first() -> Tid {
    const FIRST: libc::c_int = -20;
    // SAFETY: no memory arguments; a refusal only means more risk of loss, which is counted.
    unsafe {
        let tid = libc::gettid();
        libc::setpriority(libc::PRIO_PROCESS, tid as libc::id_t, FIRST);
        tid as Tid
    }
}

fn thread_time() -> u64 {
    super::machine::clock(libc::CLOCK_THREAD_CPUTIME_ID) as u64
}
