//! Two machines: this one sends, another one receives (`corelane test agent`), one way; or that one
//! sends back what comes, and this one receives too.
//!
//! The other is reached through a remote shell, whose standard streams carry the conversation; it
//! must run the same program. Hanging up ends it, so nothing is left there after Ctrl-C or a crash
//! here. Counts are exact; delays need clocks that can be compared ([`super::clocks`]), or the
//! round trip, which begins and ends with this machine's.

use std::io::BufReader;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use host::clock::now_ns;
use host::process::Group;

use super::Engine;
use super::clocks::{Clocks, Relation};
use super::protocol::{Open, Reply, Request, VERSION, Watch, hear, say};
use super::record::{record, sent_by_stream};
use crate::capture::Departures;
use crate::clock::wait_until;
use crate::conduct::conducted;
use crate::link::Link;
use crate::rig::{Event, Result, Rig, RigError};
use crate::trial::{Direction, Order, Trial, Validity};

/// The far machine's port is the second one, whatever ports this one has.
const STREAMS: [(u8, u8); 1] = [(0, 1)];
/// Ports of the device, as the frames are addressed.
const PORTS: u8 = 2;

/// How long the shell may take to notice that we hung up.
const HANG_UP: Duration = Duration::from_secs(2);

/// A line to the far machine.
#[derive(Debug)]
pub struct Far {
    shell: Group,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    relation: Relation,
    described: String,
}

impl Far {
    /// Starts the agent: `shell` is a program and its words, such as `ssh -o BatchMode=yes HOST
    /// corelane test agent`. Then has it open a port.
    ///
    /// # Errors
    /// [`RigError::Far`]: it cannot be started, is another version, or cannot open the port.
    pub fn reach(shell: &[String], port: &Open) -> Result<Self> {
        let words = shell.join(" ");
        let failed = |what: String| RigError::Far(format!("{words}: {what}"));
        let (program, arguments) = shell
            .split_first()
            .ok_or_else(|| failed("there is no command".to_owned()))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut shell = Group::start(&mut command).map_err(|error| failed(error.to_string()))?;
        let leader = &mut shell.leader;
        let (Some(input), Some(output)) = (leader.stdin.take(), leader.stdout.take()) else {
            return Err(failed("it has no standard streams".to_owned()));
        };
        let mut far = Self {
            shell,
            input: Some(input),
            output: BufReader::new(output),
            relation: Relation::Unknown,
            described: String::new(),
        };
        match far.ask(&Request::Hello)? {
            Reply::Hello { version, clocks } if version == VERSION => {
                far.relation = Clocks::relation(&Clocks::read(), &clocks);
            }
            Reply::Hello { version, .. } => {
                return Err(failed(format!(
                    "it runs {version}, this is {VERSION}; install the same program on both \
                     machines"
                )));
            }
            _ => return Err(failed("it does not say who it is".to_owned())),
        }
        match far.ask(&Request::Open(port.clone()))? {
            Reply::Ready { what } => far.described = what,
            _ => return Err(failed("it opens no port".to_owned())),
        }
        Ok(far)
    }

    fn nonsense(&self) -> RigError {
        RigError::Far(format!(
            "the far machine ({}) does not say what arrived",
            self.described
        ))
    }

    /// Says something and waits for the answer.
    fn ask(&mut self, request: &Request) -> Result<Reply> {
        let gone = || {
            RigError::Far(
                "the far machine hung up; try the command that reaches it by hand".to_owned(),
            )
        };
        let input = self.input.as_mut().ok_or_else(gone)?;
        say(input, request).map_err(|_| gone())?;
        match hear(&mut self.output) {
            Ok(Some(Reply::Error(error))) => {
                Err(RigError::Far(format!("the far machine: {error}")))
            }
            Ok(Some(reply)) => Ok(reply),
            Ok(None) if host::interrupted() => Err(RigError::Interrupted),
            Ok(None) => Err(gone()),
            Err(error) => Err(RigError::Far(format!(
                "the far machine says what nobody understands: {error}"
            ))),
        }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // Hanging up ends the agent, and that the shell; one that does not notice is ended.
        self.input = None;
        self.shell.wait(HANG_UP);
    }
}

/// An engine that sends, and the machine that receives.
pub struct Remote<L> {
    engine: Engine<L>,
    far: Far,
    course: Course,
}

/// Where the frames of a test between two machines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// There.
    OneWay,
    /// Here: the far machine sends them back.
    RoundTrip,
}

impl<L: Link> Remote<L> {
    /// Puts the two together.
    pub fn new(engine: Engine<L>, far: Far, course: Course) -> Self {
        Self {
            engine,
            far,
            course,
        }
    }

    /// One trial whose frames end on the far machine.
    fn one_way(&mut self, order: &Order, purpose: &str, event: Option<Event<'_>>) -> Result<Trial> {
        let Self { engine, far, .. } = self;
        engine.number += 1;
        let trial = engine.number as u8;
        let mut senders = engine.senders(&STREAMS, PORTS, order, trial, &Departures::new());
        engine.learn(&mut senders, order.waits.learning_ns)?;
        let clock = match far.relation {
            Relation::Same => Some(0),
            Relation::Disciplined {
                receiver_plus_ns, ..
            } => Some(receiver_plus_ns),
            Relation::Unknown => None,
        };
        far.ask(&Request::Begin(Watch::new(order, trial, clock)))?;
        let (sent, noise) = conducted(engine.core, event, &[], || {
            engine.traffic(&mut senders, None, order)
        });
        for sender in &mut senders {
            sender.give_back(&mut engine.pool);
        }
        sent?;
        let finish = Request::Finish(sent_by_stream(&senders, STREAMS.len()));
        let Reply::Arrived(arrived) = far.ask(&finish)? else {
            return Err(far.nonsense());
        };
        let record = record(engine.number, order, purpose, &senders, *arrived, &noise);
        wait_until(now_ns() + order.waits.settle_ns, host::interrupted);
        Ok(record)
    }

    /// One trial whose frames come back.
    fn round_trip(
        &mut self,
        order: &Order,
        purpose: &str,
        event: Option<Event<'_>>,
    ) -> Result<Trial> {
        let Self { engine, far, .. } = self;
        far.ask(&Request::Reflect)?;
        let mut trial = engine.trial(&[(0, 0)], (&STREAMS, PORTS), order, purpose, event)?;
        let Reply::Reflected(reflected) = far.ask(&Request::Finish(Vec::new()))? else {
            return Err(far.nonsense());
        };
        if reflected.dropped > 0 {
            trial.counts.tester_dropped += reflected.dropped;
            trial.validity = Validity::Invalid(format!(
                "the far machine could not send back {} of {} frames; use a lower rate",
                reflected.dropped,
                reflected.dropped + reflected.returned
            ));
        }
        Ok(trial)
    }
}

impl<L: Link> Rig for Remote<L> {
    fn run(&mut self, order: &Order, purpose: &str, event: Option<Event<'_>>) -> Result<Trial> {
        if order.direction != Direction::OneWay || order.traffic.replay.is_some() {
            return Err(RigError::unable(
                "a test between two machines",
                "send both ways, in a mesh, or replay a capture",
                "send test frames one way",
            ));
        }
        match self.course {
            Course::OneWay => self.one_way(order, purpose, event),
            Course::RoundTrip => self.round_trip(order, purpose, event),
        }
    }

    fn describe(&self) -> String {
        let (here, there) = (self.engine.describe(), &self.far.described);
        match self.course {
            Course::OneWay => format!(
                "{here}; received on the far machine: {there}; {}",
                self.far.relation
            ),
            Course::RoundTrip => format!(
                "{here}; sent back on the far machine: {there}; counts and delays are of the \
                 round trip, by one clock"
            ),
        }
    }

    fn line_rate(&self) -> Option<f64> {
        self.engine.line_rate()
    }

    fn ceiling(&self) -> f64 {
        self.engine.ceiling()
    }
}
