//! The sweep: all changes of cores and threads in the order of time, and the sums between them.

use std::collections::HashMap;

use super::{Budget, WaitFor};
use crate::analyse::classify::Class;
use crate::analyse::waits::Waited;
use crate::event::{Interrupt, Tid};
use crate::threads::Role;
use crate::timeline::{Cause, Doing, Timeline, UNKNOWN};

const STATES: usize = 8;
const PROGRAM: u8 = 0;
const OTHER: u8 = 1;
const KERNEL: u8 = 2;
const RECORDER: u8 = 3;
const INTERRUPT: u8 = 4;
const SOFTIRQ: u8 = 5;
const IDLE: u8 = 6;
const NOT_KNOWN: u8 = 7;

/// What an instant changes.
#[derive(Clone, Copy)]
enum Change {
    /// A core's occupant.
    Occupant {
        core: u16,
        state: u8,
        owner: u32,
    },
    /// An interrupt handler begins (with its state) or ends on a core.
    Handler {
        core: u16,
        state: Option<u8>,
    },
    Blocked {
        reason: u32,
        by: i8,
    },
    Runnable {
        by: i8,
    },
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
    sums: [u64; STATES],
}

impl CoreNow {
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
    pub(super) fn new(timeline: &'a Timeline, objects: &[Waited], classes: &[Class]) -> Self {
        let mut sweep = Self {
            timeline,
            changes: Vec::with_capacity(timeline.runs.iter().map(Vec::len).sum::<usize>() * 4),
            reasons: Vec::new(),
            owners: vec![("interrupts".to_owned(), 0)],
        };
        sweep.cores();
        sweep.lives(objects, classes);
        sweep.changes.sort_by_key(|(time, _)| *time);
        sweep
    }

    fn cores(&mut self) {
        let mut names: HashMap<Tid, u32> = HashMap::new();
        for (core, (runs, handlers)) in self
            .timeline
            .runs
            .iter()
            .zip(&self.timeline.handlers)
            .enumerate()
        {
            let core = core as u16;
            for run in runs {
                let role = self.timeline.threads.role(run.tid);
                let state = match role {
                    _ if run.tid == UNKNOWN => NOT_KNOWN,
                    Role::Target => PROGRAM,
                    Role::Other => OTHER,
                    Role::Kernel => KERNEL,
                    Role::Recorder => RECORDER,
                    Role::Idle => IDLE,
                };
                let owner = if matches!(state, OTHER | KERNEL | RECORDER) {
                    let process = self.timeline.threads.process(run.tid);
                    let owner = *names.entry(process).or_insert_with(|| {
                        self.owners.push((self.timeline.threads.name(process), 0));
                        self.owners.len() as u32 - 1
                    });
                    self.owners[owner as usize].1 += run.end - run.start;
                    owner
                } else {
                    NO_OWNER
                };
                self.changes
                    .push((run.start, Change::Occupant { core, state, owner }));
            }
            for handler in handlers {
                let state = if matches!(handler.what, Interrupt::Soft(_)) {
                    SOFTIRQ
                } else {
                    INTERRUPT
                };
                self.owners[0].1 += handler.end - handler.start;
                self.changes.push((
                    handler.start,
                    Change::Handler {
                        core,
                        state: Some(state),
                    },
                ));
                self.changes
                    .push((handler.end, Change::Handler { core, state: None }));
            }
        }
    }

    fn lives(&mut self, objects: &[Waited], classes: &[Class]) {
        let mut numbers: HashMap<WaitFor, u32> = HashMap::new();
        for life in &self.timeline.lives {
            if self.timeline.threads.role(life.tid) != Role::Target {
                continue;
            }
            for segment in &life.segments {
                match segment.doing {
                    Doing::Running(_) => {}
                    Doing::Runnable => {
                        self.changes
                            .push((segment.start, Change::Runnable { by: 1 }));
                        self.changes
                            .push((segment.end, Change::Runnable { by: -1 }));
                    }
                    Doing::Blocked(cause) => {
                        let reason = wait_for(cause, classes, objects);
                        let next = numbers.len() as u32;
                        let number = *numbers.entry(reason).or_insert(next);
                        if number == next {
                            self.reasons.push(reason);
                        }
                        self.changes.push((
                            segment.start,
                            Change::Blocked {
                                reason: number,
                                by: 1,
                            },
                        ));
                        self.changes.push((
                            segment.end,
                            Change::Blocked {
                                reason: number,
                                by: -1,
                            },
                        ));
                    }
                }
            }
        }
    }

    /// Sums up.
    pub(super) fn run(self) -> Budget {
        let mut budget = Budget {
            wall: self.timeline.wall(),
            cores: self.timeline.cores.len() as u64,
            ..Budget::default()
        };
        let mut cores: Vec<CoreNow> = (0..self.timeline.cores.len())
            .map(|_| CoreNow {
                occupant: NOT_KNOWN,
                owner: NO_OWNER,
                handler: None,
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
            let step = time - now;
            if step > 0 {
                counts.account(step, &mut budget, &mut integrals);
                for core in &mut cores {
                    core.sums[usize::from(core.state())] += step;
                }
                now = *time;
            }
            match *change {
                Change::Blocked { reason, by } => {
                    let kind = self.reasons[reason as usize];
                    let integral = integrals.of(kind);
                    accounts[reason as usize].change(integral, by);
                    let number = counts.blocked(kind);
                    *number = number.saturating_add_signed(i64::from(by));
                }
                Change::Runnable { by } => {
                    counts.runnable = counts.runnable.saturating_add_signed(i64::from(by));
                }
                Change::Occupant { core, state, owner } => {
                    let core = &mut cores[usize::from(core)];
                    counts.leave(core, &mut thieves, integrals.stolen);
                    core.occupant = state;
                    core.owner = owner;
                    counts.join(core, &mut thieves, integrals.stolen);
                }
                Change::Handler { core, state } => {
                    let core = &mut cores[usize::from(core)];
                    counts.leave(core, &mut thieves, integrals.stolen);
                    core.handler = state;
                    counts.join(core, &mut thieves, integrals.stolen);
                }
            }
        }
        let step = self.timeline.end - now;
        counts.account(step, &mut budget, &mut integrals);
        for core in &mut cores {
            core.sums[usize::from(core.state())] += step;
        }
        for (account, reason) in accounts.iter_mut().zip(&self.reasons) {
            account.change(integrals.of(*reason), 0);
            if account.charged >= 1.0 {
                budget.waits.push((*reason, account.charged as u64));
            }
        }
        budget
            .waits
            .sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        let mut by_name: HashMap<String, (f64, u64)> = HashMap::new();
        for (account, (name, ran)) in thieves.iter_mut().zip(&self.owners) {
            account.change(integrals.stolen, 0);
            let entry = by_name.entry(name.clone()).or_default();
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
            budget.program += core.sums[usize::from(PROGRAM)];
            budget.other += core.sums[usize::from(OTHER)];
            budget.kernel += core.sums[usize::from(KERNEL)];
            budget.recorder += core.sums[usize::from(RECORDER)];
            budget.interrupts += core.sums[usize::from(INTERRUPT)];
            budget.softirqs += core.sums[usize::from(SOFTIRQ)];
            budget.unknown += core.sums[usize::from(NOT_KNOWN)];
        }
        budget
    }
}

/// What a cause means for the budget.
fn wait_for(cause: Cause, classes: &[Class], objects: &[Waited]) -> WaitFor {
    match cause {
        Cause::Futex(object) | Cause::KernelLock(object) => {
            let class = classes
                .get(object as usize)
                .copied()
                .unwrap_or(Class::Signal);
            match class {
                _ if objects.get(object as usize).is_none() => WaitFor::Nothing,
                class if class.is_lock() => WaitFor::Lock(object),
                Class::Signal => WaitFor::Signal(object),
                Class::Parking => WaitFor::Parking(object),
                Class::TimedWait => WaitFor::Time,
                _ => WaitFor::Nothing,
            }
        }
        Cause::Timer => WaitFor::Time,
        Cause::Disk => WaitFor::Disk,
        Cause::Network => WaitFor::Network,
        Cause::Device => WaitFor::Device,
        Cause::Thread => WaitFor::Thread,
        Cause::Stopped | Cause::Unknown => WaitFor::Nothing,
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
    nothing: u64,
}

impl Counts {
    fn blocked(&mut self, reason: WaitFor) -> &mut u64 {
        match reason {
            WaitFor::Lock(_) => &mut self.locks,
            WaitFor::Nothing => &mut self.nothing,
            _ => &mut self.waits,
        }
    }

    fn leave(&mut self, core: &CoreNow, thieves: &mut [Account], stolen: f64) {
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

    fn account(&self, step: u64, budget: &mut Budget, integrals: &mut Integrals) {
        let state = |state: u8| self.states[usize::from(state)];
        let idle = state(IDLE);
        let waking = idle.min(self.runnable);
        let locks = (idle - waking).min(self.locks);
        let waits = (idle - waking - locks).min(self.waits);
        budget.idle_waking += waking * step;
        budget.idle_locks += locks * step;
        budget.idle_waits += waits * step;
        budget.idle_design += (idle - waking - locks - waits) * step;
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
            budget.starved += starved * step;
            integrals.stolen += starved as f64 / foreign as f64 * step_length;
        }
        if state(PROGRAM) == 1 && self.runnable == 0 && self.locks == 0 && self.waits == 0 {
            budget.alone += step;
        }
    }
}
