//! The walk over the events that counts the waits.

use super::Waited;
use super::behind::Holders;
use super::let_go::Finder;
use crate::event::{Context, Event, FutexCall, Kind, Tid};
use crate::fast_map::FastMap;
use crate::threads::Role;
use crate::timeline::{Object, Timeline};
use crate::trace::Trace;

const TIMED_OUT: i32 = -libc::ETIMEDOUT;
const CHANGED: i32 = -libc::EAGAIN;

/// Counts the waits of the threads under study.
pub fn gather(trace: &Trace, timeline: &Timeline) -> Vec<Waited> {
    let objects = timeline.objects.iter().copied();
    let mut gatherer = Gatherer {
        timeline,
        holders: Holders::new(timeline),
        found: objects
            .clone()
            .map(|object| Waited {
                object,
                ..Waited::default()
            })
            .collect(),
        index: objects.clone().zip(0..).collect(),
        open: objects.clone().map(|_| Vec::new()).collect(),
        let_go: objects
            .map(|object| finder(trace, timeline, object))
            .collect(),
        threads: FastMap::default(),
        numbers: timeline.threads.iter().map(|thread| thread.tid).collect(),
    };
    for event in &trace.events {
        gatherer.event(event);
    }
    gatherer.finish()
}

/// What finds when a lock had been let go, at the looks at it.
fn finder(trace: &Trace, timeline: &Timeline, object: Object) -> Finder {
    let mut looks = trace.trailer.looks.iter();
    let own =
        looks.find(|looks| (looks.process, looks.address) == (object.process, object.address));
    let meant = own.into_iter().flat_map(|looks| &looks.looks);
    let mut meant: Vec<u64> = meant.map(|look| timeline.inside(look.meant())).collect();
    meant.sort_unstable();
    Finder::new(meant)
}

/// True for what is no event of the thread that ran.
fn is_ours(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Lost(_) | Kind::Progress { .. } | Kind::Stolen { .. }
    )
}

#[derive(Clone, Copy)]
struct Open {
    call: FutexCall,
    object: Option<usize>,
    enter: u64,
    on_core: u64,
    woken: Option<u64>,
    arrived: bool,
}

#[derive(Default)]
struct OneThread {
    studied: bool,
    process: Tid,
    on_since: Option<u64>,
    ran: u64,
    call: Option<Open>,
    /// Objects got after a wait: (object, instant, time on core by then).
    acquired: Vec<(usize, u64, u64)>,
    /// Objects let go: (object, time on core by then).
    released: Vec<(usize, u64)>,
    kernel: Vec<(usize, u64)>,
    last_wait: Option<usize>,
}

impl OneThread {
    fn on_core(&self, time: u64) -> u64 {
        self.ran + self.on_since.map_or(0, |since| time.saturating_sub(since))
    }
}

struct Gatherer<'a> {
    timeline: &'a Timeline,
    holders: Holders<'a>,
    found: Vec<Waited>,
    index: FastMap<Object, usize>,
    /// The sleeping waiters of each object, and since when their wait is charged to nobody.
    open: Vec<Vec<(Tid, u64)>>,
    /// When each object had been let go.
    let_go: Vec<Finder>,
    threads: FastMap<Tid, OneThread>,
    numbers: std::collections::HashSet<Tid>,
}

/// Ends the thread's call without knowing its answer; tells what it waited at.
fn close(found: &mut [Waited], thread: &mut OneThread, time: u64) -> Option<usize> {
    let call = thread.call.take()?;
    let object = call.object.filter(|_| thread.studied)?;
    if !call.call.operation.waits() {
        return None;
    }
    found[object].contended.end(time);
    if call.woken.is_some() && !call.arrived {
        found[object].hand_off.end(time);
    }
    Some(object)
}

impl Gatherer<'_> {
    fn thread(&mut self, tid: Tid) -> &mut OneThread {
        self.threads.entry(tid).or_insert_with(|| OneThread {
            studied: self.timeline.threads.role(tid) == Role::Target,
            process: self.timeline.threads.process(tid),
            ..OneThread::default()
        })
    }

    fn object(&self, process: Tid, address: u64, time: u64) -> Option<usize> {
        let object = Object {
            process,
            address,
            number: self.timeline.lifetimes.number(process, address, time),
        };
        self.index.get(&object).copied()
    }

    fn event(&mut self, event: &Event) {
        let time = self.timeline.inside(event.time);
        let tells_who_runs = event.tid != 0 && !is_ours(event.kind);
        if tells_who_runs && self.thread(event.tid).on_since.is_none() {
            // The switch to it was not told.
            self.arrive(event.tid, time);
        }
        match event.kind {
            Kind::Switch { next, .. } => {
                let leaving = self.thread(event.tid);
                if let Some(since) = leaving.on_since.take() {
                    leaving.ran += time - since.min(time);
                }
                self.arrive(next, time);
            }
            Kind::Waking { woken, by, .. } => self.waking(event.tid, woken, by, time),
            Kind::FutexEnter(call) => self.enter(event.tid, call, time),
            Kind::FutexExit(result) => self.exit(event.tid, result, time),
            Kind::LockBegin { address, flags } => {
                self.kernel_begin(event.tid, address, flags, time);
            }
            Kind::LockEnd { address, .. } => self.kernel_end(event.tid, address, time),
            Kind::Stack(stack) => {
                if let Some(object) = self.thread(event.tid).last_wait.take() {
                    *self.found[object].places.entry(stack).or_default() += 1;
                }
            }
            Kind::Lost(_) => self.forget(time),
            _ => {}
        }
    }

    /// Events are missing: whoever waited or held may have ended that unseen. What is open ends
    /// here, and counts from the next event on.
    fn forget(&mut self, time: u64) {
        for thread in self.threads.values_mut() {
            close(&mut self.found, thread, time);
            for (object, _) in thread.kernel.drain(..) {
                self.found[object].contended.end(time);
            }
            thread.acquired.clear();
            thread.released.clear();
            thread.last_wait = None;
        }
        self.open.iter_mut().for_each(Vec::clear);
        self.let_go.iter_mut().for_each(Finder::forget);
    }

    fn arrive(&mut self, tid: Tid, time: u64) {
        let thread = self.thread(tid);
        thread.on_since = Some(time);
        if let Some(call) = &mut thread.call
            && call.woken.is_some()
            && !call.arrived
        {
            call.arrived = true;
            if let Some(object) = call.object {
                self.found[object].hand_off.end(time);
            }
        }
    }

    fn waking(&mut self, waker: Tid, woken: Tid, by: Context, time: u64) {
        let waking_call = match by {
            Context::Thread => self
                .threads
                .get(&waker)
                .and_then(|thread| thread.call)
                .filter(|c| c.call.operation.wakes()),
            _ => None,
        };
        let Some(thread) = self.threads.get_mut(&woken) else {
            return;
        };
        let Some(call) = &mut thread.call else { return };
        let (Some(object), None) = (call.object, call.woken) else {
            return;
        };
        call.woken = Some(time);
        if !thread.studied {
            return;
        }
        self.open[object].retain(|(waiter, _)| *waiter != woken);
        let found = &mut self.found[object];
        found.hand_off.begin(time);
        if waking_call.is_some() {
            found.futex.ended_by_call += 1;
        } else if by == Context::Thread {
            found.futex.ended_without_call += 1;
        }
    }

    fn enter(&mut self, tid: Tid, call: FutexCall, time: u64) {
        let is_number =
            self.numbers.contains(&(call.value & 0x3fff_ffff)) && call.value & 0x3fff_ffff > 1;
        let thread = self.thread(tid);
        let (process, studied, on_core) = (thread.process, thread.studied, thread.on_core(time));
        let object = self.object(process, call.address, time);
        if let Some(thread) = self.threads.get_mut(&tid)
            && let Some(object) = close(&mut self.found, thread, time)
        {
            // The end of the call before was not told.
            self.open[object].retain(|(waiter, _)| *waiter != tid);
        }
        let thread = self.thread(tid);
        thread.call = Some(Open {
            call,
            object,
            enter: time,
            on_core,
            woken: None,
            arrived: false,
        });
        let Some(object) = object.filter(|_| studied) else {
            return;
        };
        let got = thread
            .acquired
            .iter()
            .position(|(held, ..)| *held == object)
            .map(|at| thread.acquired.swap_remove(at));
        if call.operation.waits() {
            thread.last_wait = Some(object);
            let gone = thread
                .released
                .iter()
                .position(|(let_go, _)| *let_go == object);
            let between = gone.map(|at| on_core - thread.released.swap_remove(at).1);
            let found = &mut self.found[object];
            if let Some(between) = between {
                found.between.add(between);
            }
            found.missed += u64::from(got.is_some());
            found.contended.begin(time);
            found.futex.wait(&call, is_number);
            self.open[object].push((tid, time));
            self.let_go[object].waits(tid, time);
        } else if call.operation.wakes() {
            thread.released.retain(|(let_go, _)| *let_go != object);
            thread.released.push((object, on_core));
            let found = &mut self.found[object];
            if let Some((_, instant, by_then)) = got {
                found.holds.add(time - instant);
                found.holds_on_core.add(on_core - by_then);
            }
            found.futex.wake(&call);
            self.let_go[object].wakes(tid, time);
            self.charge(object, tid, time);
        }
    }

    /// `releaser` lets go: since the last one did, all who wait have waited for it.
    fn charge(&mut self, object: usize, releaser: Tid, time: u64) {
        let found = &mut self.found[object];
        let mut waited = 0;
        for (_, since) in &mut self.open[object] {
            let from = std::mem::replace(since, time);
            waited += time - from;
            self.holders.add(&mut found.behind, releaser, from, time);
        }
        if waited > 0 {
            found.parts.entry(releaser).or_default().blocked_others += waited;
        }
    }

    fn exit(&mut self, tid: Tid, result: i32, time: u64) {
        let thread = self.thread(tid);
        let Some(call) = thread.call.take() else {
            return;
        };
        let (Some(object), true) = (call.object, thread.studied) else {
            return;
        };
        let on_core = thread.on_core(time);
        self.found[object].calls += 1;
        self.found[object].in_calls += on_core - call.on_core;
        if !call.call.operation.waits() {
            return;
        }
        self.open[object].retain(|(waiter, _)| *waiter != tid);
        self.let_go[object].goes_on(tid, time);
        let thread = self.thread(tid);
        if result == 0 || result == CHANGED {
            thread.acquired.push((object, time, on_core));
        }
        let found = &mut self.found[object];
        if call.woken.is_some() && !call.arrived {
            found.hand_off.end(time);
        }
        found.futex.timed_out += u64::from(result == TIMED_OUT);
        found.futex.changed += u64::from(result == CHANGED);
        found.waited(tid, time - call.enter, time);
    }

    fn kernel_begin(&mut self, tid: Tid, address: u64, flags: u8, time: u64) {
        let Some(object) = self.object(0, address, time) else {
            return;
        };
        let thread = self.thread(tid);
        if !thread.studied {
            return;
        }
        thread.kernel.push((object, time));
        thread.last_wait = Some(object);
        self.found[object].flags = flags;
        self.found[object].contended.begin(time);
    }

    fn kernel_end(&mut self, tid: Tid, address: u64, time: u64) {
        let Some(object) = self.object(0, address, time) else {
            return;
        };
        let thread = self.thread(tid);
        let Some(at) = thread.kernel.iter().rposition(|(open, _)| *open == object) else {
            return;
        };
        let (_, begin) = thread.kernel.swap_remove(at);
        self.found[object].waited(tid, time - begin, time);
    }

    fn finish(mut self) -> Vec<Waited> {
        let end = self.timeline.end;
        for (tid, thread) in &self.threads {
            if let Some(call) = thread.call.filter(|open| open.call.operation.waits())
                && let (Some(object), true) = (call.object, thread.studied)
            {
                let found = &mut self.found[object];
                found.unfinished += 1;
                let part = found.parts.entry(*tid).or_default();
                part.waits.add(end - call.enter.min(end));
            }
        }
        for (found, let_go) in self.found.iter_mut().zip(self.let_go) {
            found.contended.close(end);
            found.let_go = let_go.finish();
        }
        self.found
    }
}
