//! From events to rows: one pass in the order of time, with what each core and each thread is
//! believed to do.

use super::core_state::CoreState;
use super::{Cause, Doing, Life, Lifetimes, Object, Stolen, Timeline, UNKNOWN};
use crate::event::{Context, Event, Kind, Left, Tid};
use crate::fast_map::FastMap;
use crate::threads::Threads;
use crate::trace::Trace;

#[derive(Clone, Copy)]
struct ThreadState {
    since: u64,
    /// `None` until something is heard of it.
    doing: Option<Doing>,
    waits_at: Option<Cause>,
}

/// See the file's beginning.
pub(super) struct Builder {
    /// What is known so far; the cores' rows come last.
    timeline: Timeline,
    cores: Vec<CoreState>,
    core_index: FastMap<u16, usize>,
    /// Beside the timeline's lives.
    states: Vec<ThreadState>,
    index: FastMap<Tid, usize>,
    object_index: FastMap<Object, u32>,
}

impl Builder {
    pub(super) fn new(trace: &Trace) -> Self {
        let (start, end) = trace.window();
        let mut list = trace.header.cores.clone();
        if list.is_empty() {
            list = trace.events.iter().map(|event| event.cpu).collect();
            list.sort_unstable();
            list.dedup();
        }
        Self {
            cores: list.iter().map(|cpu| CoreState::new(*cpu, start)).collect(),
            core_index: list.iter().copied().zip(0..).collect(),
            states: Vec::new(),
            index: FastMap::default(),
            object_index: FastMap::default(),
            timeline: Timeline {
                start,
                end,
                stolen: vec![Vec::new(); list.len()],
                cores: list,
                lifetimes: Lifetimes::new(&trace.trailer.names),
                threads: Threads::new(trace),
                ..Timeline::default()
            },
        }
    }

    /// Takes the next event.
    pub(super) fn event(&mut self, event: &Event) {
        let Some(core) = self.core_index.get(&event.cpu).copied() else {
            return;
        };
        let time = self.timeline.inside(event.time);
        if let Kind::Lost(_) = event.kind {
            self.lose_core(core, time);
            return;
        }
        if let Kind::Stolen {
            time: taken,
            within,
        } = event.kind
        {
            let start = self
                .timeline
                .inside(event.time.saturating_sub(within.into()));
            if start < time {
                let stretch = Stolen {
                    start,
                    end: time,
                    time: taken.min(time - start),
                };
                self.timeline.stolen[core].push(stretch);
            }
            return;
        }
        self.believe(core, time, event);
        match event.kind {
            Kind::Switch { left, next } => self.switch(core, time, event.tid, left, next),
            Kind::Waking { woken, by, .. } => self.waking(core, time, event.tid, woken, by),
            Kind::FutexEnter(call) if call.operation.waits() => {
                let process = self.timeline.threads.process(event.tid);
                let object = self.object(process, call.address, time);
                let thread = self.thread(event.tid, time);
                self.states[thread].waits_at = Some(Cause::Futex(object));
            }
            Kind::FutexEnter(_) | Kind::FutexExit(_) | Kind::LockEnd { .. } => {
                let thread = self.thread(event.tid, time);
                self.states[thread].waits_at = None;
            }
            Kind::LockBegin { address, .. } => {
                let object = self.object(0, address, time);
                let thread = self.thread(event.tid, time);
                // A kernel lock inside a futex call is for the moment what the thread waits at.
                self.states[thread].waits_at = Some(Cause::KernelLock(object));
            }
            Kind::InterruptBegin(what) => {
                let core = &mut self.cores[core];
                core.close_handler(time);
                core.stack.push((what, true));
                core.handler_since = time;
            }
            Kind::InterruptEnd(what) => {
                let core = &mut self.cores[core];
                core.close_handler(time);
                if let Some(at) = core.stack.iter().rposition(|(inside, _)| *inside == what) {
                    core.stack.truncate(at);
                }
                core.handler_since = time;
            }
            _ => {}
        }
    }

    /// Every event says who runs; where that differs from what the last switch said, a switch is
    /// missing.
    fn believe(&mut self, core: usize, time: u64, event: &Event) {
        let tid = event.tid;
        let believed = self.cores[core].tid;
        if believed == tid {
            return;
        }
        if believed == UNKNOWN {
            // Known from now on; if this is the first event of the core, it ran since the
            // beginning.
            let first =
                self.cores[core].runs.is_empty() && self.cores[core].since == self.timeline.start;
            if first {
                self.cores[core].tid = tid;
                let thread = self.thread(tid, time);
                if self.states[thread].doing.is_none() {
                    self.states[thread].since = self.born(tid);
                }
                let cpu = self.cores[core].cpu;
                self.states[thread].doing = Some(Doing::Running(cpu));
                return;
            }
        } else if believed == 0 {
            self.infer_start(core, time, event);
            return;
        } else {
            self.timeline.contradictions += 1;
            self.leave_unknown(believed, time);
        }
        self.cores[core].occupy(time, UNKNOWN, false);
        self.cores[core].occupy(time, tid, true);
        self.run(core, time, tid);
    }

    /// Some kernels keep perf silent for the idle threads of some cores (seen on 6.18), so that the
    /// switch from idle to `tid` is missing. A thread that returns from a wait says so at once,
    /// so that it began just now; another one began when it was woken, as far as anybody knows.
    fn infer_start(&mut self, core: usize, time: u64, event: &Event) {
        self.timeline.inferred += 1;
        let thread = self.thread(event.tid, time);
        let state = self.states[thread];
        let returns = matches!(event.kind, Kind::FutexExit(_) | Kind::LockEnd { .. });
        let start = match state.doing {
            Some(Doing::Runnable) if !returns => state.since.clamp(self.cores[core].since, time),
            _ => time,
        };
        self.cores[core].occupy(start, event.tid, true);
        self.run(core, start, event.tid);
    }

    fn born(&self, tid: Tid) -> u64 {
        self.timeline
            .threads
            .get(tid)
            .and_then(|thread| thread.born)
            .map_or(self.timeline.start, |born| self.timeline.inside(born))
    }

    fn leave_unknown(&mut self, tid: Tid, time: u64) {
        let thread = self.thread(tid, time);
        self.enter(thread, time, Doing::Blocked(Cause::Unknown), UNKNOWN);
    }

    fn lose_core(&mut self, core: usize, time: u64) {
        let tid = self.cores[core].tid;
        if tid != UNKNOWN {
            self.leave_unknown(tid, time);
        }
        let core = &mut self.cores[core];
        core.close_handler(time);
        core.stack.clear();
        core.occupy(time, UNKNOWN, true);
    }

    fn run(&mut self, core: usize, time: u64, tid: Tid) {
        let cpu = self.cores[core].cpu;
        let thread = self.thread(tid, time);
        self.enter(thread, time, Doing::Running(cpu), UNKNOWN);
    }

    fn switch(&mut self, core: usize, time: u64, tid: Tid, left: Left, next: Tid) {
        self.timeline.switches += 1;
        let thread = self.thread(tid, time);
        let waits_at = self.states[thread].waits_at;
        let doing = match left {
            Left::Runnable | Left::Preempted => Doing::Runnable,
            Left::Stopped => Doing::Blocked(Cause::Stopped),
            Left::Uninterruptible => Doing::Blocked(
                waits_at
                    .filter(|c| matches!(c, Cause::KernelLock(_)))
                    .unwrap_or(Cause::Disk),
            ),
            Left::Dead | Left::Parked | Left::Idle => Doing::Blocked(Cause::Unknown),
            Left::Sleeping => Doing::Blocked(waits_at.unwrap_or(Cause::Unknown)),
        };
        self.enter(thread, time, doing, UNKNOWN);
        self.cores[core].occupy(time, next, true);
        self.run(core, time, next);
    }

    fn waking(&mut self, core: usize, time: u64, waker: Tid, woken: Tid, by: Context) {
        let thread = self.thread(woken, time);
        let state = self.states[thread];
        if matches!(state.doing, Some(Doing::Running(_) | Doing::Runnable)) {
            // Woken before it could sleep.
            return;
        }
        if let Some(Doing::Blocked(Cause::Unknown)) | None = state.doing {
            let cause = if state.doing.is_none() {
                Cause::Unknown
            } else {
                self.cores[core].cause(by)
            };
            self.states[thread].doing = Some(Doing::Blocked(cause));
        }
        let waker = if by == Context::Thread {
            waker
        } else {
            UNKNOWN
        };
        self.enter(thread, time, Doing::Runnable, waker);
    }

    fn thread(&mut self, tid: Tid, time: u64) -> usize {
        if let Some(index) = self.index.get(&tid) {
            return *index;
        }
        let index = self.timeline.lives.len();
        self.index.insert(tid, index);
        self.timeline.lives.push(Life {
            tid,
            segments: Vec::new(),
        });
        let since = self.born(tid).min(time);
        self.states.push(ThreadState {
            since,
            doing: None,
            waits_at: None,
        });
        index
    }

    /// The thread stops what it did and begins `doing`; `waker` is who ended a blocked stretch.
    fn enter(&mut self, thread: usize, time: u64, doing: Doing, waker: Tid) {
        let state = &mut self.states[thread];
        let before = match state.doing {
            Some(before) => before,
            // First sight: it comes from the run queue when it runs, from a sleep when it is woken.
            None if matches!(doing, Doing::Running(_)) => Doing::Runnable,
            None => Doing::Blocked(Cause::Unknown),
        };
        self.timeline.lives[thread].push(state.since, time, before, waker);
        state.since = state.since.max(time);
        state.doing = Some(doing);
        if matches!(doing, Doing::Running(_)) {
            // A lock that was waited for in the kernel has been given when the thread runs again.
            if matches!(state.waits_at, Some(Cause::KernelLock(_)))
                && matches!(before, Doing::Blocked(_))
            {
                state.waits_at = None;
            }
        }
    }

    fn object(&mut self, process: Tid, address: u64, time: u64) -> u32 {
        let object = Object {
            process,
            address,
            number: self.timeline.lifetimes.number(process, address, time),
        };
        let objects = &mut self.timeline.objects;
        *self.object_index.entry(object).or_insert_with(|| {
            objects.push(object);
            objects.len() as u32 - 1
        })
    }

    /// Closes everything at the window's end.
    pub(super) fn finish(mut self) -> Timeline {
        let mut timeline = self.timeline;
        let end = timeline.end;
        for (life, state) in timeline.lives.iter_mut().zip(self.states) {
            let Some(doing) = state.doing else { continue };
            let until = match doing {
                Doing::Running(_) => end,
                _ => timeline
                    .threads
                    .get(life.tid)
                    .and_then(|thread| thread.gone)
                    .map_or(end, |gone| gone.min(end)),
            };
            life.push(state.since, until, doing, UNKNOWN);
        }
        for core in &mut self.cores {
            core.close_handler(end);
            core.occupy(end, UNKNOWN, true);
        }
        (timeline.runs, timeline.handlers) = self
            .cores
            .into_iter()
            .map(|core| (core.runs, core.handlers))
            .unzip();
        timeline
    }
}
