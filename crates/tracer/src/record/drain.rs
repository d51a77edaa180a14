//! The recorder's thread: empties the rings, turns records into events, and writes them.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use host::clock::now_ns;
use host::favour::{Favoured, RealTime};
use perf_event_open_sys::bindings::{PERF_RECORD_LOST, PERF_RECORD_SAMPLE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::gettid;
use rustix::time::ClockId;

use super::catalogue::Decoders;
use super::ear::Ear;
use super::sources::Core;
use super::stacks::Stacks;
use super::steal::Steal;
use super::switches::Switches;
use super::witness::Witness;
use super::{RecordError, machine, side};
use crate::event::{Kind, TaskChange, Tid};
use crate::format::write::FileWriter;
use crate::trace::Trailer;

/// The lowest real-time priority (sched(7)): before all ordinary threads.
const LOWEST: u32 = 1;
/// How long the thread sleeps unless a ring fills.
const TICK_MILLISECONDS: u32 = 100;
/// A ring of switches that was fuller than this makes the next sleep shorter.
const FULL_ENOUGH: f64 = 0.25;

/// How a recording is told to end, in this order: its end comes, its end is taken, its end came.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    comes: AtomicBool,
    came: AtomicBool,
}

impl Stop {
    /// Ends the recording: returns the end of its window.
    pub(crate) fn now(&self) -> u64 {
        self.comes.store(true, Ordering::SeqCst);
        let end = now_ns();
        self.came.store(true, Ordering::Release);
        end
    }
}

/// The thread's belongings.
pub(crate) struct Drain {
    cores: Vec<Core>,
    /// `None`: perf tells of the switches as of everything else.
    switches: Option<Switches>,
    /// The next sleep in milliseconds.
    tick: u32,
    ears: Vec<Ear>,
    decoders: Decoders,
    file: FileWriter<BufWriter<File>>,
    tasks: Vec<TaskChange>,
    stacks: Stacks,
    witness: Witness,
    steal: Steal,
    output: PathBuf,
}

/// What is left of it when the recording has ended.
pub(crate) struct Drained {
    pub(crate) trailer: Trailer,
    pub(crate) file: FileWriter<BufWriter<File>>,
}

impl Drain {
    pub(crate) fn new(
        cores: Vec<Core>,
        switches: Option<Switches>,
        decoders: Decoders,
        file: FileWriter<BufWriter<File>>,
        output: PathBuf,
    ) -> Self {
        let ears = cores.iter().map(|core| Ear::new(core.cpu)).collect();
        Self {
            cores,
            switches,
            tick: TICK_MILLISECONDS,
            ears,
            decoders,
            file,
            tasks: Vec::new(),
            stacks: Stacks::default(),
            witness: Witness::default(),
            steal: Steal::default(),
            output,
        }
    }

    /// Adds news about threads.
    pub(crate) fn tasks(&mut self, changes: Vec<TaskChange>) {
        self.witness.learn(&changes);
        self.tasks.extend(changes);
    }

    /// Looks at locks need be kept of the `last` nanoseconds only.
    pub(crate) fn look_at_the(&mut self, last: Option<u64>) {
        self.witness.lookout.last = last;
    }

    /// Drains until `stop` came, then closes the sources and counts what was lost.
    pub(crate) fn run(mut self, stop: &Stop) -> Result<Drained, RecordError> {
        // A late reader loses events, and looks at locks must not wait until a thread gives its core
        // up. A refusal means more risk of loss, which is counted, and of looks that do not count.
        let first = RealTime::first_in_first_out(LOWEST);
        let favoured = first.is_err().then(Favoured::now);
        while !stop.came.load(Ordering::Acquire) {
            let now = now_ns();
            // Otherwise the window may end before `now`, and need what would be forgotten.
            if !stop.comes.load(Ordering::SeqCst) {
                self.file.forget(now);
            }
            self.sleep();
            self.turn(false)?;
        }
        if let Some(switches) = &mut self.switches {
            switches.close();
        }
        for core in &self.cores {
            core.disable();
        }
        self.turn(true)?;
        let mut trailer = Trailer {
            losses_counted: true,
            recorder_threads: vec![gettid().as_raw_pid() as Tid],
            ..Trailer::default()
        };
        for (core, ear) in self.cores.iter().zip(&mut self.ears) {
            let total = core.lost();
            trailer.losses_counted &= total.is_some();
            trailer
                .lost
                .push((core.cpu, ear.all_lost(total.unwrap_or(0))));
        }
        self.write(true)?;
        // What follows is done when the window has closed, and may take long.
        drop((first, favoured));
        trailer.recorder_time = machine::clock(ClockId::ThreadCPUTime) as u64;
        self.witness.finish(self.stacks.all(), &mut trailer);
        Ok(Drained {
            trailer,
            file: self.file,
        })
    }

    /// Sleeps until a ring fills or the tick is over; between, looks at locks.
    fn sleep(&mut self) {
        let mut polls: Vec<PollFd<'_>> = self
            .cores
            .iter()
            .map(|core| PollFd::from_borrowed_fd(core.owner(), PollFlags::IN))
            .collect();
        let until = Instant::now() + Duration::from_millis(u64::from(self.tick));
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            let pause = self.witness.lookout.pause().filter(|pause| *pause < rest);
            let timeout = pause.unwrap_or(rest);
            let due = Instant::now() + timeout;
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: i64::from(timeout.subsec_nanos()),
            };
            // Being interrupted only makes the turn early.
            if poll(&mut polls, Some(&timeout)) != Ok(0) || pause.is_none() {
                break;
            }
            self.witness.lookout.look(due.elapsed());
        }
    }

    fn turn(&mut self, last: bool) -> Result<(), RecordError> {
        let readings = self.witness.progress();
        let read_at = now_ns();
        let mut fullest: f64 = 0.0;
        for (core, ear) in self.cores.iter_mut().zip(&mut self.ears) {
            // Switches first: whatever perf tells from before them is then in its ring already.
            let until = if last { u64::MAX } else { now_ns() };
            if let Some(switches) = &self.switches {
                fullest = fullest.max(switches.filled(core.cpu));
                ear.switches(switches);
            }
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
            ear.merge(if self.switches.is_some() {
                until
            } else {
                u64::MAX
            });
        }
        self.tick =
            (f64::from(TICK_MILLISECONDS) * (FULL_ENOUGH / fullest).min(1.0)).max(1.0) as u32;
        if let Some(ear) = self.ears.first_mut() {
            for (point, total) in readings {
                ear.now(read_at, Kind::Progress { point, total });
            }
        }
        let (stolen, within) = self.steal.turn(read_at);
        for (core, time) in stolen {
            if let Some(ear) = self.ears.iter_mut().find(|ear| ear.cpu() == core) {
                ear.now(read_at, Kind::Stolen { time, within });
            }
        }
        self.witness.look();
        self.witness.keep_maps(self.stacks.fresh());
        self.write(false)
    }

    fn write(&mut self, all: bool) -> Result<(), RecordError> {
        let unwritable = RecordError::unwritable(&self.output);
        for ear in &mut self.ears {
            if all || ear.writer.is_full() {
                self.file.core(&mut ear.writer).map_err(&unwritable)?;
            }
        }
        self.file.tasks(&self.tasks).map_err(unwritable)?;
        self.tasks.clear();
        Ok(())
    }
}
