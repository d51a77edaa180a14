//! Two machines: this one sends, another one receives (`corelane test agent`), one way.
//!
//! The other is reached through a remote shell, whose standard streams carry the conversation; it must run the same program. Hanging
//! up ends it, so nothing is left there after Ctrl-C or a crash here. Counts are exact; delays need clocks that can be compared
//! ([`super::clocks`]).

use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::clocks::{Clocks, Relation};
use super::protocol::{Open, Reply, Request, VERSION, Watch, hear, say};
use super::record::{record, sent_by_stream};
use super::{Engine, LEAD_NS, STUCK_NS, conducted};
use crate::capture::Departures;
use crate::clock::{now_ns, wait_until};
use crate::link::Link;
use crate::rig::{Event, Rig, RigError};
use crate::trial::{Direction, Order, Trial};

/// A line to the far machine.
#[derive(Debug)]
pub struct Far {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    relation: Relation,
    described: String,
}

impl Far {
    /// Starts the agent: `shell` is a program and its words, such as `ssh -o BatchMode=yes HOST corelane test agent`. Then has it open
    /// a port.
    ///
    /// # Errors
    /// [`RigError::Far`]: it cannot be started, is another version, or cannot open the port.
    pub fn reach(shell: &[String], port: &Open) -> Result<Self, RigError> {
        let words = shell.join(" ");
        let failed = |what: String| RigError::Far(format!("{words}: {what}"));
        let (program, arguments) = shell
            .split_first()
            .ok_or_else(|| failed("there is no command".to_owned()))?;
        // In a process group of its own: Ctrl-C ends the test first, which then hangs up.
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no standard streams".to_owned()));
        };
        let mut far = Self {
            child,
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
                    "it runs {version}, this is {VERSION}; install the same program on both machines"
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

    /// What can be said of delays.
    pub fn clocks(&self) -> String {
        self.relation.to_string()
    }

    /// Says something and waits for the answer.
    fn ask(&mut self, request: &Request) -> Result<Reply, RigError> {
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
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An engine that sends, and the machine that receives.
pub struct Remote<L> {
    engine: Engine<L>,
    far: Far,
}

impl<L: Link> Remote<L> {
    /// Puts the two together.
    pub fn new(engine: Engine<L>, far: Far) -> Self {
        Self { engine, far }
    }
}

impl<L: Link> Rig for Remote<L> {
    fn run(
        &mut self,
        order: &Order,
        purpose: &str,
        event: Option<Event<'_>>,
    ) -> Result<Trial, RigError> {
        if order.direction != Direction::OneWay || order.traffic.replay.is_some() {
            return Err(RigError::Unable {
                rig: "a test between two machines",
                what: "send both ways, in a mesh, or replay a capture".to_owned(),
                remedy: "send test frames one way",
            });
        }
        let Self { engine, far } = self;
        engine.number += 1;
        let trial = engine.number as u8;
        // The far machine's port is the second one, whatever ports this one has.
        let streams = [(0, 1)];
        let mut senders = engine.senders(&streams, 2, order, trial, &Departures::new());
        engine.learn(&mut senders, order.waits.learning_ns)?;
        let clock = match far.relation {
            Relation::Same => Some(0),
            Relation::Disciplined {
                receiver_plus_ns, ..
            } => Some(receiver_plus_ns),
            Relation::Unknown => None,
        };
        far.ask(&Request::Begin(Watch::new(order, trial, clock)))?;
        let (sent, noise) = conducted(engine.core, event, &[], || engine.send(&mut senders));
        for sender in &mut senders {
            sender.give_back(&mut engine.pool);
        }
        sent?;
        let finish = Request::Finish(sent_by_stream(&senders, streams.len()));
        let Reply::Arrived(arrived) = far.ask(&finish)? else {
            return Err(RigError::Far(
                "the far machine does not say what arrived".to_owned(),
            ));
        };
        let record = record(engine.number, order, purpose, &senders, *arrived, &noise);
        wait_until(now_ns() + order.waits.settle_ns, host::interrupted);
        Ok(record)
    }

    fn describe(&self) -> String {
        format!(
            "{}; received on the far machine: {}; {}",
            self.engine.describe(),
            self.far.described,
            self.far.relation
        )
    }

    fn line_rate(&self) -> Option<f64> {
        self.engine.line_rate()
    }

    fn ceiling(&self) -> f64 {
        self.engine.ceiling()
    }
}

impl<L: Link> Engine<L> {
    /// Sends by the timetable; what arrives here meanwhile is nobody's.
    fn send(&mut self, senders: &mut [super::sender::Sender]) -> Result<(), RigError> {
        let start = now_ns() + LEAD_NS;
        for sender in senders.iter_mut() {
            sender.start(start);
        }
        loop {
            if host::interrupted() {
                return Err(RigError::Interrupted);
            }
            let now = now_ns();
            let mut sending = false;
            for sender in senders.iter_mut() {
                sender.turn(&mut self.link, &mut self.pool, now)?;
                sending |= !sender.finished();
            }
            if !sending
                || senders
                    .iter()
                    .any(|sender| sender.stuck_for(now) > STUCK_NS)
            {
                break;
            }
        }
        // The rings are emptied, or they would be full one day.
        self.drain()
    }
}
