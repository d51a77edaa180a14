//! From events to rows: one pass in the order of time, with what each core and each thread is
//! believed to do.

use super::core_state::CoreState;
use super::{Cause, Doing, Life, Object, Segment, Timeline, UNKNOWN};
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
    start: u64,
    end: u64,
    cores: Vec<CoreState>,
    core_index: Vec<usize>,
    lives: Vec<Life>,
    states: Vec<ThreadState>,
    index: FastMap<Tid, usize>,
    objects: Vec<Object>,
    object_index: FastMap<(Tid, u64), u32>,
    threads: Threads,
    contradictions: u64,
    inferred: u64,
    switches: u64,
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
        let mut core_index = vec![usize::MAX; list.last().map_or(0, |last| usize::from(*last) + 1)];
        for (index, cpu) in list.iter().enumerate() {
            core_index[usize::from(*cpu)] = index;
        }
        let cores = list
            .iter()
            .map(|cpu| CoreState {
                cpu: *cpu,
                tid: UNKNOWN,
                since: start,
                runs: Vec::new(),
                handlers: Vec::new(),
                stack: Vec::new(),
                handler_since: start,
            })
            .collect();
        Self {
            start,
            end,
            cores,
            core_index,
            lives: Vec::new(),
            states: Vec::new(),
            index: FastMap::default(),
            objects: Vec::new(),
            object_index: FastMap::default(),
            threads: Threads::new(trace),
            contradictions: 0,
            inferred: 0,
            switches: 0,
        }
    }

    /// Takes the next event.
    pub(super) fn event(&mut self, event: &Event) {
        let Some(core) = self
            .core_index
            .get(usize::from(event.cpu))
            .copied()
            .filter(|core| *core != usize::MAX)
        else {
            return;
        };
        let time = event.time.clamp(self.start, self.end);
        if let Kind::Lost(_) = event.kind {
            self.lose_core(core, time);
            return;
        }
        self.believe(core, time, event);
        match event.kind {
            Kind::Switch { left, next } => self.switch(core, time, event.tid, left, next),
            Kind::Waking { woken, by, .. } => self.waking(core, time, event.tid, woken, by),
            Kind::FutexEnter(call) if call.operation.waits() => {
                let object = self.object(self.threads.process(event.tid), call.address);
                let thread = self.thread(event.tid, time);
                self.states[thread].waits_at = Some(Cause::Futex(object));
            }
            Kind::FutexEnter(_) | Kind::FutexExit(_) | Kind::LockEnd { .. } => {
                let thread = self.thread(event.tid, time);
                self.states[thread].waits_at = None;
            }
            Kind::LockBegin { address, .. } => {
                let object = self.object(0, address);
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
            let first = self.cores[core].runs.is_empty() && self.cores[core].since == self.start;
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
            self.contradictions += 1;
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
        self.inferred += 1;
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
        self.threads
            .get(tid)
            .and_then(|thread| thread.born)
            .map_or(self.start, |born| born.clamp(self.start, self.end))
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
        self.switches += 1;
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
        let index = self.lives.len();
        self.index.insert(tid, index);
        self.lives.push(Life {
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
        if time > state.since && self.lives[thread].tid != 0 {
            self.lives[thread].segments.push(Segment {
                start: state.since,
                end: time,
                doing: before,
                waker,
            });
        }
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

    fn object(&mut self, process: Tid, address: u64) -> u32 {
        let next = self.objects.len() as u32;
        let index = *self.object_index.entry((process, address)).or_insert(next);
        if index == next {
            self.objects.push(Object { process, address });
        }
        index
    }

    /// Closes everything at the window's end.
    pub(super) fn finish(mut self) -> Timeline {
        let end = self.end;
        for thread in 0..self.lives.len() {
            let tid = self.lives[thread].tid;
            let gone = self
                .threads
                .get(tid)
                .and_then(|thread| thread.gone)
                .map_or(end, |gone| gone.min(end));
            let state = self.states[thread];
            if let Some(doing @ (Doing::Running(_) | Doing::Runnable | Doing::Blocked(_))) =
                state.doing
            {
                let until = if matches!(doing, Doing::Running(_)) {
                    end
                } else {
                    gone
                };
                if until > state.since && tid != 0 {
                    self.lives[thread].segments.push(Segment {
                        start: state.since,
                        end: until,
                        doing,
                        waker: UNKNOWN,
                    });
                }
            }
        }
        for core in &mut self.cores {
            core.close_handler(end);
            core.occupy(end, UNKNOWN, true);
        }
        Timeline {
            start: self.start,
            end,
            cores: self.cores.iter().map(|core| core.cpu).collect(),
            handlers: self
                .cores
                .iter_mut()
                .map(|core| std::mem::take(&mut core.handlers))
                .collect(),
            runs: self.cores.into_iter().map(|core| core.runs).collect(),
            lives: self.lives,
            objects: self.objects,
            threads: self.threads,
            contradictions: self.contradictions,
            inferred: self.inferred,
            switches: self.switches,
        }
    }
}
