//! A new process asks for the ports of this one ([`crate::take_over`]).

use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use fastpath::forward::Forwarder;

use super::Instance;
use crate::log::{Level, log};
use crate::take_over::{
    Channel, Given, Held, Offer, QUESTION, Totals, VERSION, Wanted, Yours, namespace, offered,
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
            given: Vec::new(),
        });
    }

    fn offer_for(&self, words: &[String]) -> Result<Offer, String> {
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
        let engine = self.follower.engine();
        let programs = engine
            .forwarder()
            .filter(|_| !self.config.engine.has_workers());
        let Some(forwarder) = programs else {
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
        })
    }

    /// Does what the new process asks for next.
    pub(super) fn follow_guest(&mut self, now: Instant) {
        let Some(mut guest) = self.guest.take() else {
            return;
        };
        let Some(forwarder) = self.follower.forwarder_mut() else {
            return;
        };
        let outcome = if guest.given.is_empty() {
            guest.wait_until_ready(forwarder)
        } else {
            guest.wait_until_held(forwarder)
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
            Err(error) => guest.give_up(forwarder, &error),
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
    fn wait_until_ready(&mut self, forwarder: &mut Forwarder) -> Result<Step, String> {
        let heard = self.channel.heard::<Wanted>();
        let Some((wanted, programs)) = heard.map_err(|error| error.to_string())? else {
            return Ok(Step::Waits);
        };
        if wanted.wanted.is_empty() || wanted.wanted.len() != programs.len() {
            return Err("it asks for no port".to_owned());
        }
        for (&port, program) in wanted.wanted.iter().zip(&programs) {
            let given = forwarder.give(port, program);
            given.map_err(|error| error.to_string())?;
            self.given.push(port);
        }
        self.hand_over(forwarder)?;
        self.end = Instant::now() + HOLDING;
        Ok(Step::Goes)
    }

    /// What its programs need to stay attached, and what was counted until they were.
    fn hand_over(&self, forwarder: &mut Forwarder) -> Result<(), String> {
        let waited = forwarder.wait_for_readers();
        waited.map_err(|error| error.to_string())?;
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
        let counted = Totals::from(&forwarder.counted());
        let said = self.channel.say(&Given { given, counted }, &descriptors);
        said.map_err(|error| error.to_string())
    }

    fn wait_until_held(&mut self, forwarder: &mut Forwarder) -> Result<Step, String> {
        let heard = self.channel.heard::<Held>();
        if heard.map_err(|error| error.to_string())?.is_none() {
            return Ok(Step::Waits);
        }
        self.let_go(forwarder);
        let yours = self.given.len();
        // It holds them, whether it hears that or not.
        let _gone = self.channel.say(&Yours { yours }, &[]);
        Ok(Step::Over)
    }

    fn let_go(&self, forwarder: &mut Forwarder) {
        for &port in &self.given {
            // What is no port any more has nothing to be let go.
            let _gone = forwarder.let_go(port);
        }
    }

    /// This process forwards on by its own programs.
    fn give_up(self, forwarder: &Forwarder, error: &str) {
        for &port in &self.given {
            if let Err(error) = forwarder.take_back(port) {
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
