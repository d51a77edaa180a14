//! The new process: what it asks of the old one.

use std::fmt::Display;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use bpf::attach::{Mode, index_of};
use fastpath::forward::Counted;

use super::{
    Channel, Given, Held, Offer, QUESTION, VERSION, Wanted, Workers, WorkersWanted, Yours, mode_of,
    namespace,
};
use crate::engine::hand_over::{FORM, Handed};
use crate::engine::{Engine, EngineError, EngineKind};
use crate::management_plane::config::Config;

/// How long the old process may take for each answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Nothing has happened yet.
const NOTHING: &str = "nothing has changed";

/// A take-over under way. Dropping it gives it up, and the old process goes on.
#[derive(Debug)]
pub struct Taking {
    channel: Channel,
    offer: Offer,
}

impl Taking {
    /// Asks the router that answers on the socket of `config` for its ports.
    ///
    /// # Errors
    /// When none answers, when it refuses, when it does not fit: each with what to do.
    pub fn ask(config: &Config) -> io::Result<Self> {
        let socket = config.socket();
        let mut stream = connect(&socket)?;
        writeln!(stream, "{QUESTION} {VERSION}")?;
        let mut channel = Channel::new(stream)?;
        let asked = channel.hear::<Offer>(PATIENCE);
        let (offer, _) = asked.map_err(|error| no_offer(&socket, &error))?;
        fits(&offer, config.engine)?;
        Ok(Self { channel, offer })
    }

    /// Number of the old process.
    pub fn process(&self) -> u32 {
        self.offer.process
    }

    /// Is the router to be out of traffic?
    pub fn is_draining(&self) -> bool {
        self.offer.draining
    }

    /// Those of the ports with these names that can be taken over: name, interface index, mode.
    ///
    /// # Errors
    /// A mode that is not known here.
    pub fn ports(&self, names: &[String]) -> io::Result<Vec<(String, u32, Mode)>> {
        let here = |name: &str, ifindex| index_of(name).is_ok_and(|index| index == ifindex);
        let ports = self.offer.ports.iter();
        let ports =
            ports.filter(|port| names.contains(&port.name) && here(&port.name, port.ifindex));
        let ports = ports.map(|port| {
            let mode = mode_of(&port.mode).ok_or_else(|| {
                let (name, mode) = (&port.name, &port.mode);
                refused(format!(
                    "port {name} is in mode {mode}, which is not known here"
                ))
            });
            Ok((port.name.clone(), port.ifindex, mode?))
        });
        ports.collect()
    }

    /// The ports run the programs of `engine` from now on, and it holds their links; its workers go
    /// on in the place of the old process's. It vouches for its routes already.
    ///
    /// # Errors
    /// When the old process ends, falls silent or refuses. It goes on with its own programs and
    /// workers then, as long as it lives.
    pub fn swap(&mut self, engine: &mut dyn Engine) -> io::Result<()> {
        self.receive_workers(engine)?;
        let worked = self.swap_programs(engine)?;
        if let Some(workers) = engine.hand_over() {
            workers.begin(worked.ports).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// The old process's workers are known here. They go on.
    fn receive_workers(&mut self, engine: &mut dyn Engine) -> io::Result<()> {
        let Some(to) = engine.hand_over() else {
            return Ok(());
        };
        self.channel.say(&WorkersWanted { workers: true }, &[])?;
        let given = self.channel.hear::<Workers>(PATIENCE);
        let (Workers { workers }, descriptors) = given.map_err(|error| {
            refused(format!(
                "the running router has not given its workers: {error}"
            ))
        })?;
        let handed = Handed {
            workers,
            descriptors,
        };
        to.receive(handed).map_err(|error| not_ours(&error))
    }

    /// What the workers of the old process have counted.
    fn swap_programs(&mut self, engine: &mut dyn Engine) -> io::Result<Counted> {
        let Some(forwarder) = engine.forwarder_mut() else {
            return Err(refused("the engine has no programs"));
        };
        let strangers = forwarder.port_counters();
        let (wanted, programs): (Vec<_>, Vec<_>) = forwarder.programs().unzip();
        self.channel.say(&Wanted { wanted }, &programs)?;
        let given = self.channel.hear::<Given>(PATIENCE);
        let (heard, descriptors) = given.map_err(|error| {
            refused(format!(
                "the running router has not given its ports: {error}"
            ))
        })?;
        let Given {
            given,
            counted,
            worked,
        } = heard;
        let worked = Counted::from(worked);
        let mut descriptors = descriptors.into_iter();
        let mut next = || {
            let missing = || io::Error::other("a descriptor is missing");
            descriptors.next().ok_or_else(missing)
        };
        for &(ifindex, has_only) in &given {
            let link = next()?;
            let only = has_only.then(&mut next).transpose()?;
            let received = forwarder.receive(ifindex, link, only);
            received.map_err(io::Error::other)?;
        }
        forwarder.count_on(Counted::from(counted), &strangers);
        if let Some(workers) = engine.hand_over() {
            workers.take_up().map_err(|error| not_ours(&error))?;
        }
        self.channel.say(&Held { held: given.len() }, &[])?;
        match self.channel.hear::<Yours>(PATIENCE) {
            Ok(_) => Ok(worked),
            // It has ended, perhaps while it took its ports back.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let mut ports = given.iter().map(|&(ifindex, _)| ifindex);
                let forwarder = engine.forwarder_mut();
                let ours = forwarder.map_or(Ok(()), |forwarder| {
                    ports.try_for_each(|ifindex| forwarder.take_back(ifindex))
                });
                ours.map_err(io::Error::other)?;
                Ok(worked)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the old process has ended, a few seconds at most: its addresses are free then.
    pub fn wait_for_end(mut self) {
        let _ended = self.channel.hear::<Yours>(PATIENCE / 2);
    }
}

/// Workers that do not fit: the old process has them still.
fn not_ours(error: &EngineError) -> io::Error {
    refused(format!("{}; {NOTHING}", error.cause))
}

fn refused(what: impl Display) -> io::Error {
    io::Error::other(format!("taking over: {what}"))
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(socket).map_err(|error| {
        refused(format!(
            "no router answers on {}: {error}; start without --take-over, or name it with \
             --instance and --run-directory",
            socket.display()
        ))
    })
}

fn no_offer(socket: &Path, error: &io::Error) -> io::Error {
    let socket = socket.display();
    if error.kind() == io::ErrorKind::TimedOut {
        let seconds = PATIENCE.as_secs();
        return refused(format!(
            "the router on {socket} has not answered within {seconds} s, it hangs: {NOTHING}; end \
             it, and start without --take-over"
        ));
    }
    let said = error.to_string();
    if said.starts_with(&format!("show {QUESTION}")) {
        return refused(format!(
            "the router on {socket} is older and does not know how: {NOTHING}; restart it"
        ));
    }
    refused(format!("the router on {socket}: {said}; {NOTHING}"))
}

/// Are its programs and ours of one kind, on the same interfaces?
fn fits(offer: &Offer, engine: EngineKind) -> io::Result<()> {
    let (theirs, ours) = (&offer.engine, engine.name());
    if theirs != ours {
        return Err(refused(format!(
            "the running engine is {theirs}, and {ours} is asked for: {NOTHING}; give \
             --engine {theirs}, or restart the router"
        )));
    }
    if engine.has_workers() && offer.workers != Some(FORM) {
        return Err(refused(format!(
            "the running router, of version {}, hands its workers over in another way: {NOTHING}; \
             restart it",
            offer.version
        )));
    }
    if offer.namespace != namespace()? {
        return Err(refused(format!(
            "process {} runs in another network namespace: {NOTHING}; start there (ip netns exec), \
             or name another with --instance",
            offer.process
        )));
    }
    Ok(())
}
