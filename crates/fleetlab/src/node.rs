//! A node: a real `corelane run` and a routing daemon in a namespace, and what happens to them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use host::Namespace;
use host::namespace::OnFailure;
use host::process::{Group, Signal, signal, silent};

use crate::Failure;
use crate::daemon::{Daemon, Kind, drain_file, draining, tool};
use crate::event::{Event, Forwarder, State};
use crate::measure::Options;
use crate::program::{ended_well, pause, run, start, wait};

/// How long Corelane may take until it is ready, or until it has ended.
const PATIENCE: Duration = Duration::from_mins(1);
/// The kernel's forwarding.
const FORWARDING: &str = "net.ipv4.ip_forward";
/// A route comes and goes so often, and stays for so long each time.
const FLAPS: usize = 5;
const FLAP: Duration = Duration::from_millis(200);
/// So many other routes come and go, so often.
const CHURN: u32 = 2000;
const CHURNS: u32 = 3;
/// Exit code of a verb whose answer is no.
const NO: i32 = 3;

/// A node, whole or not.
#[derive(Debug)]
pub struct Node {
    /// 1 and up.
    pub number: u8,
    state: State,
    forwarder: Forwarder,
    program: PathBuf,
    engine: Option<String>,
    files: PathBuf,
    corelane: Option<Group>,
    kind: Kind,
    bfd_ms: u16,
    daemon: Option<Daemon>,
    namespace: Namespace,
}

impl Node {
    /// Starts it. `files` is a directory for it alone.
    ///
    /// # Errors
    /// When Corelane or the daemon does not start, with what it says.
    pub fn start(
        number: u8,
        namespace: &Namespace,
        files: PathBuf,
        options: &Options,
    ) -> Result<Self, Failure> {
        let kind = options.daemon;
        let at_daemon = files.join(kind.to_string());
        fs::create_dir_all(&at_daemon)?;
        let drain = drain_file(&at_daemon);
        fs::write(&drain, draining(false))?;
        fs::write(
            files.join("corelane.toml"),
            format!(
                "ports = [\"r0\", \"r1\"]\nmetrics = \"\"\ntable-words = 131072\n\
                 vrf-words = 8192\ndrain-routing = \"{kind}\"\ndrain-bird-file = \"{}\"\n\
                 drain-quiet-seconds = 1\ndrain-limit-seconds = 10\n",
                drain.display()
            ),
        )?;
        tool(kind, &files, &at_daemon)?;
        let mut node = Self {
            number,
            state: State::Whole,
            forwarder: Forwarder::Corelane,
            program: options.program.clone(),
            engine: options.engine.clone(),
            files,
            corelane: None,
            kind,
            bfd_ms: options.bfd_ms,
            daemon: None,
            namespace: namespace.clone(),
        };
        node.begin()?;
        Ok(node)
    }

    /// How it is.
    pub fn state(&self) -> State {
        self.state
    }

    /// Who forwards in it.
    pub fn forwarder(&self) -> Forwarder {
        self.forwarder
    }

    /// Changes that; the node is whole before and after.
    ///
    /// # Errors
    /// When Corelane does not start, or does not end well.
    pub fn forward_by(&mut self, forwarder: Forwarder) -> Result<(), Failure> {
        let note = match forwarder {
            Forwarder::Corelane => None,
            Forwarder::Kernel => self.end_corelane()?,
        };
        if let Some(note) = note {
            return Err(format!("node{}: {note}; see its messages", self.number).into());
        }
        self.forwarder = forwarder;
        self.start_corelane()
    }

    /// Does what the event needs before its moment, and costs no frame: Corelane takes a while to
    /// end, and a node dies in one moment.
    pub fn prepare(&mut self, event: Event) {
        if event == Event::Dead {
            self.kill();
        }
    }

    /// Has the event happen, for which the node is prepared. What did not go as it should, and was no error, comes back as a note.
    ///
    /// # Errors
    /// When a program does not do its part, with what it says.
    pub fn act(&mut self, event: Event) -> Result<Option<String>, Failure> {
        let note = match event {
            Event::Drain => self.drain(true)?,
            Event::Undrain => self.drain(false)?,
            Event::TakeOver => self.take_over()?,
            Event::Kill => {
                self.kill();
                None
            }
            Event::Hang => {
                self.signal(Signal::STOP)?;
                None
            }
            Event::Restart => {
                let note = self.end_corelane()?;
                self.start_corelane()?;
                note
            }
            Event::DaemonKill => {
                // The group is killed when it is dropped.
                self.daemon = None;
                None
            }
            Event::Dead => {
                self.namespace.set(FORWARDING, "0")?;
                self.daemon()?.signal(Signal::STOP)?;
                None
            }
            Event::LinkDown => {
                self.namespace.ip("link set r0 down")?;
                None
            }
            Event::Remove => self.remove()?,
            Event::Add => {
                self.begin()?;
                None
            }
            Event::Flap => self.flap()?,
            Event::Churn => self.churn()?,
            // It happens to all of them.
            Event::Load => None,
        };
        self.state = event.ends();
        Ok(note)
    }

    /// Brings it into a state, through a whole one.
    ///
    /// # Errors
    /// As [`Node::act`].
    pub fn bring(&mut self, to: State) -> Result<(), Failure> {
        if self.state == to {
            return Ok(());
        }
        match self.state {
            State::Whole => {}
            State::Drained => drop(self.drain(false)?),
            State::Killed => self.start_corelane()?,
            State::Hung => self.signal(Signal::CONT)?,
            State::Unannounced => self.announce()?,
            State::Dead => {
                self.namespace.set(FORWARDING, "1")?;
                self.daemon()?.signal(Signal::CONT)?;
                self.start_corelane()?;
            }
            State::Cut => drop(self.namespace.ip("link set r0 up")?),
            State::Removed => self.begin()?,
        }
        self.state = State::Whole;
        let way = match to {
            State::Drained => Event::Drain,
            State::Removed => Event::Remove,
            _ => return Ok(()),
        };
        self.act(way).map(drop)
    }

    /// Frames that its kernel has forwarded so far (`ForwDatagrams` of RFC 1213, which XDP passes
    /// by).
    ///
    /// # Errors
    /// When the kernel has no such count.
    pub fn forwarded_by_kernel(&self) -> Result<u64, Failure> {
        let read = || fs::read_to_string("/proc/thread-self/net/snmp");
        let text = self.namespace.enter(read)??;
        let mut lines = text.lines().filter(|line| line.starts_with("Ip: "));
        let (names, values) = (lines.next(), lines.next());
        let (names, values) = (names.unwrap_or_default(), values.unwrap_or_default());
        let mut pairs = names.split(' ').zip(values.split(' '));
        let found = pairs.find(|&(name, _)| name == "ForwDatagrams");
        let count = found.and_then(|(_, value)| value.parse().ok());
        Ok(count.ok_or("the kernel's net/snmp has no ForwDatagrams; mount /proc")?)
    }

    /// Starts what it runs.
    fn begin(&mut self) -> Result<(), Failure> {
        self.start_corelane()?;
        self.announce()
    }

    /// Starts Corelane, unless the kernel forwards alone.
    fn start_corelane(&mut self) -> Result<(), Failure> {
        if self.forwarder == Forwarder::Corelane {
            self.corelane = Some(self.run(&[])?);
        }
        Ok(())
    }

    /// Takes the node out of traffic, or puts it back: by Corelane's verb, or by the words that the
    /// verb has for the daemon.
    fn drain(&self, out: bool) -> Result<Option<String>, Failure> {
        match self.forwarder {
            Forwarder::Corelane => self.verb(if out { "drain" } else { "undrain" }),
            Forwarder::Kernel => self.daemon()?.shut_down_gracefully(out).map(|()| None),
        }
    }

    /// Starts the daemon.
    fn announce(&mut self) -> Result<(), Failure> {
        let files = self.files.join(self.kind.to_string());
        let daemon = Daemon::of_node(self.kind, &self.namespace, &files, self.number, self.bfd_ms)?;
        self.daemon = Some(daemon);
        Ok(())
    }

    /// Sends Corelane a signal.
    fn signal(&self, which: Signal) -> Result<(), Failure> {
        let corelane = self.corelane.as_ref().ok_or("Corelane does not run")?;
        let sent = signal(corelane.leader.id(), which);
        Ok(sent.map_err(|error| format!("a signal to Corelane: {error}; did it end?"))?)
    }

    fn daemon(&self) -> Result<&Daemon, Failure> {
        let none = || format!("no daemon runs in node{}; it was removed", self.number);
        Ok(self.daemon.as_ref().ok_or_else(none)?)
    }

    fn remove(&mut self) -> Result<Option<String>, Failure> {
        let is_well = self.daemon.take().map_or(Ok(true), Daemon::end)?;
        let note = self.end_corelane()?;
        Ok(note.or_else(|| (!is_well).then(|| "the daemon did not end well".to_owned())))
    }

    /// Has Corelane end in order.
    fn end_corelane(&mut self) -> Result<Option<String>, Failure> {
        if self.corelane.is_none() {
            return Ok(None);
        }
        self.signal(Signal::TERM)?;
        let ended = self.corelane.take();
        let is_well = ended.map_or(Ok(true), |mut corelane| ended_well(&mut corelane))?;
        Ok((!is_well).then(|| "Corelane did not end well".to_owned()))
    }

    fn flap(&self) -> Result<Option<String>, Failure> {
        for has in [false, true].repeat(FLAPS) {
            self.daemon()?.have_route(self.number, has)?;
            pause(FLAP)?;
        }
        Ok(None)
    }

    fn churn(&self) -> Result<Option<String>, Failure> {
        let lines = |verb: &str| {
            (0..CHURN).fold(String::new(), |mut lines, route| {
                let (high, low) = (route / 256, route % 256);
                let via = format!("198.19.{}.2", self.number);
                let _ = writeln!(lines, "route {verb} 100.64.{high}.{low}/32 via {via}");
                lines
            })
        };
        for _ in 0..CHURNS {
            self.namespace.batch(&lines("add"), OnFailure::Stop)?;
            pause(FLAP)?;
            self.namespace.batch(&lines("del"), OnFailure::Stop)?;
            pause(FLAP)?;
        }
        Ok(None)
    }

    fn kill(&mut self) {
        // The group is killed when it is dropped.
        self.corelane = None;
    }

    /// Starts Corelane with more options, and waits until it says that it is ready.
    fn run(&self, more: &[&str]) -> Result<Group, Failure> {
        let log = self.files.join("corelane.log");
        let mut command = self.namespace.command(&self.program);
        command.arg("run").arg(self.files.join("corelane.toml"));
        if let Some(engine) = &self.engine {
            command.args(["--engine", engine]);
        }
        command.args(more).arg("--run-directory").arg(&self.files);
        let command = silent(&mut command).stdout(Stdio::piped());
        let mut group = start(command.stderr(File::create(&log)?))?;
        let said = group.leader.stdout.take();
        let (sender, heard) = channel();
        thread::spawn(move || {
            for line in said
                .into_iter()
                .flat_map(|said| BufReader::new(said).lines())
            {
                // Only the first is waited for.
                let _gone = sender.send(line);
            }
        });
        let mut line = None;
        let is_ready = wait(PATIENCE, || {
            line = line.take().or(heard.try_recv().ok());
            Ok(line.is_some() || group.ended().is_some())
        })?;
        if is_ready && line.is_some() {
            return Ok(group);
        }
        let said = fs::read_to_string(&log).unwrap_or_default();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        Err(format!(
            "corelane run did not get ready in node{}: {said}; see corelane doctor",
            self.number
        )
        .into())
    }

    fn take_over(&mut self) -> Result<Option<String>, Failure> {
        let new = self.run(&["--take-over"])?;
        let Some(mut old) = self.corelane.replace(new) else {
            return Ok(None);
        };
        let is_well = ended_well(&mut old)?;
        Ok((!is_well).then(|| "the old process did not end well".to_owned()))
    }

    /// `corelane drain` or `undrain`. That traffic remains is a note.
    fn verb(&self, name: &str) -> Result<Option<String>, Failure> {
        let mut command = self.namespace.command(&self.program);
        command
            .args(["--quiet", name])
            .arg(self.files.join("corelane.toml"));
        command.arg("--run-directory").arg(&self.files);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.files.display()));
        let (status, said) = run(&mut command, PATIENCE)?;
        match status.code() {
            Some(0) => Ok(None),
            Some(NO) => Ok(Some(said)),
            _ => Err(format!("corelane {name} in node{}: {status}: {said}", self.number).into()),
        }
    }
}
