//! A new process asks for the ports of this one ([`crate::take_over`]).

use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use fastpath::forward::{Counted, Forwarder, PortCounts};

use super::Instance;
use crate::engine::Engine;
use crate::engine::hand_over::FORM;
use crate::log::{Level, log};
use crate::take_over::{
    Channel, Given, Held, Offer, QUESTION, RESTING, Totals, VERSION, Wanted, Workers,
    WorkersWanted, Yours, namespace, offered,
};

/// How long the new process may take until it is ready; a full table takes it seconds.
const LOADING: Duration = Duration::from_mins(2);
/// How long it may take until it holds the links.
const HOLDING: Duration = Duration::from_secs(5);

/// The new process.
#[derive(Debug)]
pub(super) struct Guest {
    channel: Channel,
    end: Instant,
    /// It knows this one's workers.
    knows_workers: bool,
    /// Ports that run its programs.
    given: Vec<u32>,
}

impl Guest {
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// The end of this process ends the connection, after all that it answers on is closed.
    pub(super) fn stay(self) {
        let _until_then = OwnedFd::from(self.channel).into_raw_fd();
    }
}

impl Instance {
    /// Somebody asks for the ports.
    pub(super) fn offer(&mut self, stream: UnixStream, words: &[String]) {
        let Ok(channel) = Channel::new(stream) else {
            return;
        };
        let offer = self.offer_for(words).and_then(|offer| {
            let said = channel.say(&offer, &[]);
            said.map_err(|error| format!("it does not listen: {error}"))
        });
        let process = channel.process();
        if let Err(error) = offer {
            channel.refuse(&error);
            log!(Level::Warning, "take-over", process, refused = error);
            return;
        }
        self.end_capture("another process takes the ports over: capture from that one");
        self.end_sampling();
        self.end_looking();
        let what = "it makes itself ready; this process forwards meanwhile";
        log!(Level::Info, "take-over", process, what);
        self.guest = Some(Guest {
            channel,
            end: Instant::now() + LOADING,
            knows_workers: false,
            given: Vec::new(),
        });
    }

    fn offer_for(&mut self, words: &[String]) -> Result<Offer, String> {
        let spoken = words.get(1).map_or("", String::as_str);
        if spoken != VERSION {
            return Err(format!(
                "{QUESTION} {spoken}: this router speaks version {VERSION} of it; restart it"
            ));
        }
        if let Some(guest) = &self.guest {
            let process = guest.channel.process();
            return Err(format!(
                "process {process} is taking over already; wait for its end"
            ));
        }
        let engine = self.follower.engine_mut();
        let workers = engine.hand_over().map(|_| FORM);
        let stays = self.config.engine.has_workers() && workers.is_none();
        let Some(forwarder) = engine.forwarder().filter(|_| !stays) else {
            let name = engine.name();
            return Err(format!(
                "engine {name} cannot be taken over yet: restart it"
            ));
        };
        Ok(Offer {
            schema: "corelane-take-over/1".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
            engine: engine.name().to_owned(),
            namespace: namespace().map_err(|error| error.to_string())?,
            ports: offered(forwarder)?,
            draining: self.readiness.is_draining(),
            workers,
        })
    }

    /// Does what the new process asks for next.
    pub(super) fn follow_guest(&mut self, now: Instant) {
        let Some(mut guest) = self.guest.take() else {
            return;
        };
        let engine = self.follower.engine_mut();
        let outcome = if engine.hand_over().is_some() && !guest.knows_workers {
            guest.wait_for_question(engine)
        } else if guest.given.is_empty() {
            guest.wait_until_ready(engine)
        } else {
            guest.wait_until_held(engine)
        };
        let late = || Err("it has not gone on in time".to_owned());
        let outcome = match outcome {
            Ok(Step::Waits) if now >= guest.end => late(),
            outcome => outcome,
        };
        match outcome {
            Ok(step) => {
                self.gone = matches!(step, Step::Over);
                self.guest = Some(guest);
            }
            Err(error) => guest.give_up(engine, &error),
        }
    }

    /// The process ends: what the new one runs on is left to it.
    pub(super) fn leave_to_guest(&mut self) {
        let (guest, forwarder) = (self.guest.as_ref(), self.follower.forwarder_mut());
        if let (Some(guest), Some(forwarder)) = (guest, forwarder) {
            guest.let_go(forwarder);
        }
    }
}

/// How far it is.
enum Step {
    Waits,
    Goes,
    /// The new process forwards from now on.
    Over,
}

impl Guest {
    /// The new process is ready for this one's workers.
    fn wait_for_question(&mut self, engine: &mut dyn Engine) -> Result<Step, String> {
        let heard = self.channel.heard::<WorkersWanted>();
        if heard.map_err(|error| error.to_string())?.is_none() {
            return Ok(Step::Waits);
        }
        if let Some(workers) = engine.hand_over() {
            let handed = workers.describe().map_err(|error| error.to_string())?;
            let descriptors: Vec<_> = handed.descriptors.iter().map(AsFd::as_fd).collect();
            let workers = handed.workers;
            let said = self.channel.say(&Workers { workers }, &descriptors);
            said.map_err(|error| error.to_string())?;
        }
        self.knows_workers = true;
        self.end = Instant::now() + HOLDING;
        Ok(Step::Goes)
    }

    fn wait_until_ready(&mut self, engine: &mut dyn Engine) -> Result<Step, String> {
        let heard = self.channel.heard::<Wanted>();
        let Some((wanted, programs)) = heard.map_err(|error| error.to_string())? else {
            return Ok(Step::Waits);
        };
        if wanted.wanted.is_empty() || wanted.wanted.len() != programs.len() {
            return Err("it asks for no port".to_owned());
        }
        let has_workers = engine.hand_over().is_some();
        let forwarder = engine.forwarder_mut().ok_or("the engine has no programs")?;
        for (&port, program) in wanted.wanted.iter().zip(&programs) {
            let given = forwarder.give(port, program);
            given.map_err(|error| error.to_string())?;
            self.given.push(port);
        }
        let waited = forwarder.wait_for_readers();
        waited.map_err(|error| error.to_string())?;
        if has_workers {
            return self.hand_workers_over(engine);
        }
        self.hand_over(forwarder, PortCounts::new())?;
        self.end = Instant::now() + HOLDING;
        Ok(Step::Goes)
    }

    /// Nobody works from here until the new process holds everything, or this one goes on.
    fn hand_workers_over(&mut self, engine: &mut dyn Engine) -> Result<Step, String> {
        let workers = engine.hand_over().ok_or("the engine has no workers")?;
        let worked = workers.hold().map_err(|error| error.to_string())?;
        let forwarder = engine.forwarder_mut().ok_or("the engine has no programs")?;
        self.hand_over(forwarder, worked)?;
        match self.channel.hear::<Held>(RESTING) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                return Err("it has not gone on in time".to_owned());
            }
            Err(error) => return Err(error.to_string()),
        }
        // Who has died meanwhile has touched nothing.
        self.say_whose()?;
        if let Some(forwarder) = engine.forwarder_mut() {
            self.let_go(forwarder);
        }
        if let Some(workers) = engine.hand_over() {
            workers.let_go();
        }
        Ok(Step::Over)
    }

    /// What its programs need to stay attached, and what was counted until they were.
    fn hand_over(&self, forwarder: &Forwarder, worked: PortCounts) -> Result<(), String> {
        let (mut given, mut descriptors) = (Vec::new(), Vec::new());
        for attachment in forwarder.attachments() {
            let port = attachment.ifindex();
            let held = attachment
                .descriptors()
                .filter(|_| self.given.contains(&port));
            if let Some((link, only)) = held {
                given.push((port, only.is_some()));
                descriptors.push(link);
                descriptors.extend(only);
            }
        }
        let worked = Counted {
            ports: worked,
            ..Counted::default()
        };
        let given = Given {
            given,
            counted: Totals::from(&forwarder.counted()),
            worked: Totals::from(&worked),
        };
        let said = self.channel.say(&given, &descriptors);
        said.map_err(|error| error.to_string())
    }

    fn wait_until_held(&mut self, engine: &mut dyn Engine) -> Result<Step, String> {
        let heard = self.channel.heard::<Held>();
        if heard.map_err(|error| error.to_string())?.is_none() {
            return Ok(Step::Waits);
        }
        if let Some(forwarder) = engine.forwarder_mut() {
            self.let_go(forwarder);
        }
        // It holds them, whether it hears that or not.
        let _gone = self.say_whose();
        Ok(Step::Over)
    }

    /// The ports are the new process's.
    fn say_whose(&self) -> Result<(), String> {
        let yours = self.given.len();
        let said = self.channel.say(&Yours { yours }, &[]);
        said.map_err(|error| error.to_string())
    }

    fn let_go(&self, forwarder: &mut Forwarder) {
        for &port in &self.given {
            // What is no port any more has nothing to be let go.
            let _gone = forwarder.let_go(port);
        }
    }

    /// This process forwards on by its own programs and workers.
    fn give_up(self, engine: &mut dyn Engine, error: &str) {
        if let Some(workers) = engine.hand_over() {
            // First, so that the new one's do not begin.
            self.channel
                .refuse(format!("{error}; the old process goes on"));
            workers.go_on();
        }
        for &port in &self.given {
            let forwarder = engine.forwarder();
            let taken = forwarder.map_or(Ok(()), |forwarder| forwarder.take_back(port));
            if let Err(error) = taken {
                log!(Level::Error, "take-over", port, error);
            }
        }
        self.channel
            .refuse(format!("{error}; the old process goes on"));
        let process = self.channel.process();
        let result = "this process goes on with its own programs";
        log!(Level::Warning, "take-over", process, error, result);
    }
}
