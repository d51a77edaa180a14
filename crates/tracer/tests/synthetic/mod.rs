//! Event streams with a known truth: a small simulator of threads that think and hold a lock, and a
//! hand for single events.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test file uses its own part"
)]

use tracer::Trace;
use tracer::event::{Context, Event, FutexCall, Kind, Left, Operation, TaskChange, TaskNews, Tid};
use tracer::trace::{Header, Look, Looks, Scope, Trailer};

/// The process under study and its first thread.
pub const MAIN: Tid = 1000;
/// The lock's address.
pub const LOCK: u64 = 0x5555_0000_1000;

/// Collects events and threads into a trace.
pub struct Hand {
    pub events: Vec<Event>,
    pub tasks: Vec<TaskChange>,
    pub cores: u16,
    pub end: u64,
}

impl Hand {
    pub fn new(cores: u16, end: u64) -> Self {
        let mut hand = Self {
            events: Vec::new(),
            tasks: Vec::new(),
            cores,
            end,
        };
        hand.thread(MAIN, MAIN, "program");
        hand.thread(0, 0, "swapper");
        hand
    }

    pub fn thread(&mut self, tid: Tid, process: Tid, name: &str) {
        self.tasks.push(TaskChange {
            time: 0,
            tid,
            process,
            what: TaskNews::Named(name.to_owned()),
        });
    }

    pub fn at(&mut self, time: u64, cpu: u16, tid: Tid, kind: Kind) {
        self.events.push(Event {
            time,
            cpu,
            tid,
            kind,
        });
    }

    pub fn switch(&mut self, time: u64, cpu: u16, from: Tid, left: Left, to: Tid) {
        self.at(time, cpu, from, Kind::Switch { left, next: to });
    }

    pub fn wake(&mut self, time: u64, cpu: u16, waker: Tid, woken: Tid) {
        self.at(
            time,
            cpu,
            waker,
            Kind::Waking {
                woken,
                target: cpu,
                by: Context::Thread,
                new: false,
            },
        );
    }

    pub fn futex(
        &mut self,
        time: u64,
        cpu: u16,
        tid: Tid,
        operation: Operation,
        address: u64,
        value: u32,
    ) {
        let call = FutexCall {
            address,
            value,
            operation,
            private: true,
            timeout: false,
        };
        self.at(time, cpu, tid, Kind::FutexEnter(call));
    }

    pub fn trace(mut self) -> Trace {
        self.events.sort_by_key(|event| event.time);
        Trace {
            header: Header {
                cores: (0..self.cores).collect(),
                ..Header::default()
            },
            trailer: Trailer {
                scope: Scope::Process(MAIN),
                start: 1,
                end: self.end,
                losses_counted: true,
                ..Trailer::default()
            },
            events: self.events,
            tasks: self.tasks,
            complaints: Vec::new(),
        }
    }
}

/// Threads that think, then hold one lock. Each has a core of its own; an uncontended acquisition
/// makes no event.
pub struct Workload {
    pub threads: u32,
    pub hold: u64,
    pub think: u64,
    pub until: u64,
    /// Spread of hold and think as a share (0: constant).
    pub spread: f64,
}

/// What the simulator knows and the tracer must find.
pub struct Truth {
    pub operations: u64,
    pub held: u64,
    pub worked: u64,
    /// Every hold: from, to, by whom.
    pub holds: Vec<(u64, u64, Tid)>,
}

impl Truth {
    /// What looks at the lock at random instants would have found; every word after it is as
    /// glibc's.
    pub fn looks(&self, until: u64) -> Looks {
        let mut random = Random(0x0f1e_2d3c_4b5a_6978);
        let mut time = 50_000;
        let mut looks = Vec::new();
        while time < until {
            looks.push(self.look(time));
            time += random.about(100_000, 0.5);
        }
        Looks {
            process: MAIN,
            address: LOCK,
            looks,
        }
    }

    /// What a look at this instant would have found.
    pub fn look(&self, time: u64) -> Look {
        let mut holds = self.holds.iter();
        let hold = holds.find(|(from, to, _)| (*from..*to).contains(&time));
        Look {
            time,
            late: 0,
            word: u32::from(hold.is_some()),
            after: hold.map_or(0, |(.., tid)| *tid),
            before: 0,
        }
    }
}

/// A wake-up takes this long to bring the thread onto its idle core.
const ARRIVAL: u64 = 300;

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn about(&mut self, mean: u64, spread: f64) -> u64 {
        (mean as f64 * (1.0 + spread * (2.0 * self.next() - 1.0))).max(1.0) as u64
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Thinks,
    Holds { contended: bool },
    Waits,
}

impl Workload {
    /// Runs the simulation: a trace, and the truth about it.
    pub fn run(&self) -> (Trace, Truth) {
        self.arriving_after(ARRIVAL)
    }

    /// The same where a wake-up takes so long to bring the thread onto its core.
    pub fn arriving_after(&self, arrival: u64) -> (Trace, Truth) {
        let mut hand = Hand::new(self.threads as u16, self.until);
        let mut random = Random(0x1234_5678_9abc_def1);
        let mut truth = Truth {
            operations: 0,
            held: 0,
            worked: 0,
            holds: Vec::new(),
        };
        let tid = |index: usize| 2000 + index as Tid;
        let count = self.threads as usize;
        let mut steps = vec![Step::Thinks; count];
        let mut due: Vec<u64> = (0..count).map(|index| 1_000 + index as u64 * 7).collect();
        let mut queue: std::collections::VecDeque<usize> = std::collections::VecDeque::new();
        let (mut taken, mut handed_over) = (false, 0);
        for (index, due) in due.iter_mut().enumerate() {
            hand.thread(tid(index), MAIN, &format!("worker-{index}"));
            hand.switch(1, index as u16, 0, Left::Runnable, tid(index));
            *due += random.about(self.think, self.spread);
        }
        while let Some((index, now)) = due
            .iter()
            .copied()
            .enumerate()
            .filter(|(index, _)| steps[*index] != Step::Waits)
            .min_by_key(|(_, time)| *time)
        {
            if now >= self.until {
                break;
            }
            let (cpu, me) = (index as u16, tid(index));
            match steps[index] {
                // Nobody takes what is on its way to another.
                Step::Thinks if taken && now < handed_over => {
                    truth.worked += handed_over - now;
                    due[index] = handed_over;
                }
                Step::Thinks if taken => {
                    hand.futex(now, cpu, me, Operation::WaitBitset, LOCK, 2);
                    hand.switch(now + 100, cpu, me, Left::Sleeping, 0);
                    queue.push_back(index);
                    steps[index] = Step::Waits;
                }
                Step::Thinks => {
                    taken = true;
                    let hold = random.about(self.hold, self.spread);
                    truth.held += hold;
                    truth.holds.push((now, now + hold, me));
                    steps[index] = Step::Holds { contended: false };
                    due[index] = now + hold;
                }
                Step::Holds { contended } => {
                    truth.operations += 1;
                    if let Some(next) = queue.pop_front() {
                        hand.futex(now, cpu, me, Operation::Wake, LOCK, 1);
                        hand.wake(now, cpu, me, tid(next));
                        hand.at(now + 10, cpu, me, Kind::FutexExit(1));
                        let arrives = (now + arrival).max(due[next] + 150);
                        handed_over = arrives;
                        hand.switch(arrives, next as u16, 0, Left::Runnable, tid(next));
                        hand.at(arrives, next as u16, tid(next), Kind::FutexExit(0));
                        let hold = random.about(self.hold, self.spread);
                        truth.held += hold;
                        truth.holds.push((arrives, arrives + hold, tid(next)));
                        steps[next] = Step::Holds { contended: true };
                        due[next] = arrives + hold;
                    } else {
                        if contended {
                            hand.futex(now, cpu, me, Operation::Wake, LOCK, 1);
                            hand.at(now + 10, cpu, me, Kind::FutexExit(0));
                        }
                        taken = false;
                    }
                    let think = random.about(self.think, self.spread);
                    truth.worked += think;
                    steps[index] = Step::Thinks;
                    due[index] = now + 20 + think;
                }
                Step::Waits => {}
            }
        }
        hand.events.retain(|event| event.time <= self.until);
        (hand.trace(), truth)
    }
}
