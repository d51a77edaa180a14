//! The sweep: all changes of cores and threads in the order of time, and the sums between them.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{Budget, WaitFor};
use crate::analyse::classify::Class;
use crate::analyse::turns::LONG;
use crate::event::{Interrupt, Tid};
use crate::threads::Role;
use crate::timeline::{Cause, Doing, Timeline, UNKNOWN};

/// The states of a core: those of its occupant have the numbers of [`Role`].
const STATES: usize = 8;
const PROGRAM: u8 = Role::Target as u8;
const OTHER: u8 = Role::Other as u8;
const KERNEL: u8 = Role::Kernel as u8;
const RECORDER: u8 = Role::Recorder as u8;
const IDLE: u8 = Role::Idle as u8;
const INTERRUPT: u8 = 5;
const SOFTIRQ: u8 = 6;
const NOT_KNOWN: u8 = 7;

/// What an instant changes.
#[derive(Clone, Copy)]
enum Change {
    /// The core with this index has another occupant: its state and owner.
    Occupant(usize, u8, u32),
    /// An interrupt handler begins (with its state) or ends on the core with this index.
    Handler(usize, Option<u8>),
    /// More or fewer threads are blocked for the reason with this index; true for those that would
    /// not run on another core either.
    Blocked(usize, i8, bool),
    /// More or fewer threads are runnable.
    Runnable(i8),
}

/// Something that is charged for time by a rate that changes with time: the integral is kept once,
/// the parts look at it only when their own number changes.
#[derive(Clone, Copy, Default)]
struct Account {
    charged: f64,
    number: u32,
    since: f64,
}

impl Account {
    fn change(&mut self, integral: f64, by: i8) {
        self.charged += f64::from(self.number) * (integral - self.since);
        self.since = integral;
        self.number = self.number.saturating_add_signed(i32::from(by));
    }
}

struct CoreNow {
    occupant: u8,
    owner: u32,
    handler: Option<u8>,
    /// Up to here the sums are told.
    since: u64,
    sums: [u64; STATES],
}

impl CoreNow {
    /// Adds the time up to `now` to the state it had.
    fn charge(&mut self, now: u64) {
        self.sums[usize::from(self.state())] += now - self.since;
        self.since = now;
    }

    fn state(&self) -> u8 {
        if self.occupant == NOT_KNOWN {
            NOT_KNOWN
        } else {
            self.handler.unwrap_or(self.occupant)
        }
    }
}

/// See the file's beginning.
pub(super) struct Sweep<'a> {
    timeline: &'a Timeline,
    changes: Vec<(u64, Change)>,
    reasons: Vec<WaitFor>,
    owners: Vec<(String, u64)>,
}

/// Owners of core time that are not named by a process.
const NO_OWNER: u32 = u32::MAX;

impl<'a> Sweep<'a> {
    /// Gathers the changes.
    pub(super) fn new(timeline: &'a Timeline, classes: &[Class]) -> Self {
        let mut sweep = Self {
            timeline,
            changes: Vec::with_capacity(timeline.runs.iter().map(Vec::len).sum::<usize>() * 4),
            reasons: Vec::new(),
            owners: vec![("interrupts".to_owned(), 0)],
        };
        sweep.cores();
        sweep.lives(classes);
        sweep.changes.sort_by_key(|(time, _)| *time);
        sweep
    }

    fn cores(&mut self) {
        let threads = &self.timeline.threads;
        let mut names: HashMap<Tid, u32> = HashMap::new();
        for (core, runs) in self.timeline.runs.iter().enumerate() {
            for run in runs {
                let state = match threads.role(run.tid) {
                    _ if run.tid == UNKNOWN => NOT_KNOWN,
                    role => role as u8,
                };
                let owner = if matches!(state, OTHER | KERNEL | RECORDER) {
                    let process = threads.process(run.tid);
                    let owner = *names.entry(process).or_insert_with(|| {
                        self.owners.push((threads.name(process), 0));
                        self.owners.len() as u32 - 1
                    });
                    self.owners[owner as usize].1 += run.end - run.start;
                    owner
                } else {
                    NO_OWNER
                };
                self.changes
                    .push((run.start, Change::Occupant(core, state, owner)));
            }
            for handler in &self.timeline.handlers[core] {
                let soft = matches!(handler.what, Interrupt::Soft(_));
                let state = if soft { SOFTIRQ } else { INTERRUPT };
                self.owners[0].1 += handler.end - handler.start;
                self.changes.extend([
                    (handler.start, Change::Handler(core, Some(state))),
                    (handler.end, Change::Handler(core, None)),
                ]);
            }
        }
    }

    fn lives(&mut self, classes: &[Class]) {
        let mut numbers: HashMap<WaitFor, usize> = HashMap::new();
        for segment in self.timeline.targets().flat_map(|life| &life.segments) {
            let change: &dyn Fn(i8) -> Change = match segment.doing {
                Doing::Running(_) => continue,
                Doing::Runnable => &Change::Runnable,
                Doing::Blocked(cause) => {
                    let reason = wait_for(cause, classes);
                    let number = *numbers.entry(reason).or_insert_with(|| {
                        self.reasons.push(reason);
                        self.reasons.len() - 1
                    });
                    // A thread that sleeps, or waits for long, is absent.
                    let long = segment.end - segment.start > LONG;
                    let is_lock = matches!(reason, WaitFor::Lock(_) | WaitFor::Nothing);
                    let absent = reason == WaitFor::Time || long && !is_lock;
                    &move |by| Change::Blocked(number, by, absent)
                }
            };
            self.changes
                .extend([(segment.start, change(1)), (segment.end, change(-1))]);
        }
    }

    /// Sums up.
    pub(super) fn run(self) -> Budget {
        let mut budget = Budget::default();
        budget.spent.wall = self.timeline.wall();
        budget.spent.cores = self.timeline.cores.len() as u64;
        let mut cores: Vec<CoreNow> = self
            .timeline
            .cores
            .iter()
            .map(|_| CoreNow {
                occupant: NOT_KNOWN,
                owner: NO_OWNER,
                handler: None,
                since: self.timeline.start,
                sums: [0; STATES],
            })
            .collect();
        let mut accounts = vec![Account::default(); self.reasons.len()];
        let mut thieves = vec![Account::default(); self.owners.len()];
        let mut counts = Counts::default();
        counts.states[usize::from(NOT_KNOWN)] = cores.len() as u64;
        let mut integrals = Integrals::default();
        let mut now = self.timeline.start;
        for (time, change) in &self.changes {
            counts.account(now, *time, &mut budget, &mut integrals);
            now = *time;
            match *change {
                Change::Blocked(reason, by, absent) => {
                    let kind = self.reasons[reason];
                    accounts[reason].change(integrals.of(kind), by);
                    counts.blocked(kind, by, absent);
                }
                Change::Runnable(by) => {
                    counts.runnable = counts.runnable.saturating_add_signed(i64::from(by));
                }
                Change::Occupant(core, state, owner) => {
                    let core = &mut cores[core];
                    counts.leave(core, now, &mut thieves, integrals.stolen);
                    (core.occupant, core.owner) = (state, owner);
                    counts.join(core, &mut thieves, integrals.stolen);
                }
                Change::Handler(core, state) => {
                    let core = &mut cores[core];
                    counts.leave(core, now, &mut thieves, integrals.stolen);
                    core.handler = state;
                    counts.join(core, &mut thieves, integrals.stolen);
                }
            }
        }
        counts.account(now, self.timeline.end, &mut budget, &mut integrals);
        for core in &mut cores {
            core.charge(self.timeline.end);
        }
        for (account, reason) in accounts.iter_mut().zip(&self.reasons) {
            account.change(integrals.of(*reason), 0);
            if account.charged >= 1.0 {
                budget.waits.push((*reason, account.charged as u64));
            }
        }
        budget.waits.sort_by_key(|(_, time)| Reverse(*time));
        let mut by_name: HashMap<String, (f64, u64)> = HashMap::new();
        for (account, (name, ran)) in thieves.iter_mut().zip(self.owners) {
            account.change(integrals.stolen, 0);
            let entry = by_name.entry(name).or_default();
            entry.0 += account.charged;
            entry.1 += ran;
        }
        budget.thieves = by_name
            .into_iter()
            .filter(|(_, (taken, _))| *taken >= 1.0)
            .map(|(name, (t, r))| (name, t as u64, r))
            .collect();
        budget
            .thieves
            .sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for (cpu, core) in self.timeline.cores.iter().zip(&cores) {
            budget.by_core.push((*cpu, core.sums));
        }
        let sum = |state: u8| cores.iter().map(|core| core.sums[usize::from(state)]).sum();
        budget.spent.program = sum(PROGRAM);
        budget.spent.other = sum(OTHER);
        budget.spent.kernel = sum(KERNEL);
        budget.spent.recorder = sum(RECORDER);
        budget.spent.interrupts = sum(INTERRUPT);
        budget.spent.softirqs = sum(SOFTIRQ);
        budget.spent.unknown = sum(NOT_KNOWN);
        budget
    }
}

/// What a cause means for the budget.
pub(crate) fn wait_for(cause: Cause, classes: &[Class]) -> WaitFor {
    match cause {
        Cause::Futex(object) | Cause::KernelLock(object) => match classes.get(object as usize) {
            Some(class) if class.is_lock() => WaitFor::Lock(object),
            Some(Class::Signal) => WaitFor::Signal(object),
            Some(Class::Parking) => WaitFor::Parking(object),
            Some(Class::TimedWait) => WaitFor::Time,
            _ => WaitFor::Nothing,
        },
        other => WaitFor::from_cause(other),
    }
}

/// The rates' integrals over time.
#[derive(Default)]
struct Integrals {
    lock: f64,
    wait: f64,
    stolen: f64,
}

impl Integrals {
    fn of(&self, reason: WaitFor) -> f64 {
        match reason {
            WaitFor::Lock(_) => self.lock,
            WaitFor::Nothing => 0.0,
            _ => self.wait,
        }
    }
}

/// How many cores and threads are in which state at this instant.
#[derive(Default)]
struct Counts {
    states: [u64; STATES],
    runnable: u64,
    locks: u64,
    waits: u64,
    /// Of them, those that would not run on another core either.
    absent: u64,
    nothing: u64,
}

impl Counts {
    fn blocked(&mut self, reason: WaitFor, by: i8, absent: bool) {
        let change = |number: &mut u64| *number = number.saturating_add_signed(i64::from(by));
        match reason {
            WaitFor::Lock(_) => change(&mut self.locks),
            WaitFor::Nothing => change(&mut self.nothing),
            _ => change(&mut self.waits),
        }
        if absent {
            change(&mut self.absent);
        }
    }

    fn leave(&mut self, core: &mut CoreNow, now: u64, thieves: &mut [Account], stolen: f64) {
        core.charge(now);
        self.states[usize::from(core.state())] -= 1;
        Self::owner(core, thieves, stolen, -1);
    }

    fn join(&mut self, core: &CoreNow, thieves: &mut [Account], stolen: f64) {
        self.states[usize::from(core.state())] += 1;
        Self::owner(core, thieves, stolen, 1);
    }

    fn owner(core: &CoreNow, thieves: &mut [Account], stolen: f64, by: i8) {
        let owner = match core.state() {
            OTHER | KERNEL | RECORDER => core.owner,
            INTERRUPT | SOFTIRQ => 0,
            _ => return,
        };
        if let Some(account) = thieves.get_mut(owner as usize) {
            account.change(stolen, by);
        }
    }

    /// Accounts for the time from `now` until `then`.
    fn account(&self, now: u64, then: u64, budget: &mut Budget, integrals: &mut Integrals) {
        let step = then - now;
        let state = |state: u8| self.states[usize::from(state)];
        let idle = state(IDLE);
        let waking = idle.min(self.runnable);
        let locks = (idle - waking).min(self.locks);
        let waits = (idle - waking - locks).min(self.waits);
        budget.spent.idle_waking += waking * step;
        budget.spent.idle_locks += locks * step;
        budget.spent.idle_waits += waits * step;
        budget.spent.idle_design += (idle - waking - locks - waits) * step;
        budget.runnable += self.runnable * step;
        let step_length = step as f64;
        if locks > 0 {
            integrals.lock += locks as f64 / self.locks as f64 * step_length;
        }
        if waits > 0 {
            integrals.wait += waits as f64 / self.waits as f64 * step_length;
        }
        let foreign = [OTHER, KERNEL, RECORDER, INTERRUPT, SOFTIRQ]
            .iter()
            .map(|s| state(*s))
            .sum::<u64>();
        let starved = (self.runnable - waking).min(foreign);
        if starved > 0 {
            budget.spent.starved += starved * step;
            integrals.stolen += starved as f64 / foreign as f64 * step_length;
        }
        let waiting = self.locks + self.waits - self.absent;
        if state(PROGRAM) == 1 && waiting == 0 && step > 0 {
            match self.runnable {
                0 => alone(budget, now, then),
                runnable if runnable == waking => budget.arriving += step,
                _ => {}
            }
        }
    }
}

/// One thread ran alone from `from` until `to`.
fn alone(budget: &mut Budget, from: u64, to: u64) {
    budget.alone += to - from;
    match budget.alone_stretches.last_mut() {
        Some((_, end)) if *end == from => *end = to,
        _ => budget.alone_stretches.push((from, to)),
    }
}
