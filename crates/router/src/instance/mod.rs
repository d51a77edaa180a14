//! A running router: the follower, the policy guard, the management plane and the signals, on one
//! thread.
//!
//! It sleeps in `poll` until the kernel announces something, somebody asks something, or something
//! is due. It ends on SIGINT or SIGTERM; dropping the engine detaches it, and the kernel forwards
//! from then on. The same happens when the process is killed, because the kernel detaches what a
//! dead process held.

mod answering;
mod capturing;
mod checks;
mod giving;
mod looking;
mod policy;
mod readiness;
mod recording;
mod reload;
mod sampling;
mod taking;
mod triggers;
mod vouching;
mod watching;

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{self, PollFd, PollFlags, Timespec};

use self::capturing::Capturer;
use self::checks::Checks;
use self::giving::Guest;
use self::looking::Looking;
use self::readiness::Readiness;
use self::recording::Recording;
use self::sampling::Sampling;
pub(crate) use self::triggers::Second;
use self::vouching::Vouching;
use self::watching::Watching;
use crate::control_plane::follower::{Checking, Follower};
use crate::control_plane::guard::{Finding, Guard};
use crate::control_plane::mirror::Mirror;
use crate::control_plane::reader::Reader;
use crate::control_plane::settings::{Changes, Settings, Watched};
use crate::engine::{Counters, Engine};
use crate::log::{Level, log};
use crate::management_plane::config::Config;
use crate::management_plane::server::{Place, Server};
use crate::management_plane::supervisor::Supervisor;
use crate::take_over::Before;

/// The longest sleep while another thread reads the kernel's tables.
const WAITING: Duration = Duration::from_millis(2);

/// What the signal handlers set.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    /// Stop.
    pub stop: Arc<AtomicBool>,
    /// Read the configuration again.
    pub reload: Arc<AtomicBool>,
}

impl Signals {
    /// Registers SIGINT and SIGTERM to stop, SIGHUP to reload.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn register() -> std::io::Result<Self> {
        let signals = Self::default();
        for signal in [libc::SIGINT, libc::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&signals.stop))?;
        }
        signal_hook::flag::register(libc::SIGHUP, Arc::clone(&signals.reload))?;
        Ok(signals)
    }
}

/// A router.
pub struct Instance {
    config: Config,
    file: Option<PathBuf>,
    as_read: Option<Config>,
    follower: Follower,
    server: Server,
    /// Where it does not answer yet.
    unserved: Vec<Place>,
    guard: Guard,
    /// As the latest decision knew them ([`Mirror::rule_changes`]).
    rules: u64,
    /// All that the latest decision was made by.
    findings: Vec<Finding>,
    /// Links that it kept because nobody had looked at them yet, by name.
    unseen: Vec<String>,
    /// By the configuration as it is.
    has_decided: bool,
    /// Kinds of things without room, of which that has been said.
    said: [bool; 4],
    /// The latest counters for metrics and when they were read.
    metrics: Option<(Instant, Arc<Counters>)>,
    /// The links' settings as they were read last, and who reads them.
    settings: Settings,
    reader: Reader<Vec<Watched>, io::Result<Settings>>,
    /// They could not be read the last time.
    lacks_settings: bool,
    /// What tells of changes of settings.
    changes: Changes,
    /// As the latest reading was begun ([`crate::control_plane::surroundings::Surroundings`]).
    news: u64,
    checks: Checks,
    vouching: Vouching,
    readiness: Readiness,
    supervisor: Supervisor,
    /// Who captures.
    capturer: Option<Capturer>,
    /// Samples of frames, while somebody wants them.
    sampling: Sampling,
    /// Reasons that somebody looks at.
    looking: Looking,
    /// What the console shows.
    watching: Watching,
    /// What is written down.
    recording: Recording,
    /// Who is taking over.
    guest: Option<Guest>,
    /// It has.
    gone: bool,
}

impl Instance {
    /// Fills the engine from the kernel's tables, starts the management plane. `file` is what a
    /// reload reads. The engine's ports are those of the router `before` it, if there is one; one that
    /// runs ends.
    ///
    /// # Errors
    /// When the kernel's tables cannot be read or followed, and when another router answers by this
    /// name; nothing is forwarded then. When the running router keeps its ports.
    pub fn start(
        config: Config,
        file: Option<PathBuf>,
        engine: Box<dyn Engine>,
        before: Before,
    ) -> io::Result<Self> {
        let mut server = Server::new()?;
        let metrics = config.metrics.0;
        let watching = Watching::new(&config);
        let console = watching.console();
        let metrics =
            metrics.map(|address| Place::Metrics(address, config.metrics_allow.clone(), console));
        let mut unserved: Vec<Place> = metrics.into_iter().collect();
        let control = Place::Control(config.socket());
        // The running one answers there until it ends.
        let is_free = !matches!(before, Before::Running(_));
        let listens = is_free.then(|| server.listen(&control));
        match listens {
            Some(Err(error)) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
            Some(Ok(())) => {}
            Some(Err(_)) | None => unserved.push(control),
        }
        // Ports start as the kernel's, and are taken over when the guard has looked.
        let all = config.ports.clone();
        let keep = |mirror: &mut Mirror| {
            mirror.keep_links(all.into_iter().collect());
        };
        let follower = Follower::start_prepared(&config.ports, engine, keep);
        let follower = follower.map_err(|error| {
            let what = format!("reading the kernel's tables (rtnetlink): {error}; start it again");
            io::Error::new(error.kind(), what)
        })?;
        let now = Instant::now();
        let mut instance = Self {
            checks: Checks::every(config.verify, now),
            vouching: Vouching::new(config.stale.0),
            readiness: Readiness::new(),
            supervisor: Supervisor::from_environment(now),
            as_read: file.as_ref().and_then(|file| Config::read(file).ok()),
            config,
            file,
            follower,
            server,
            unserved,
            guard: Guard::new()?,
            rules: 0,
            findings: Vec::new(),
            unseen: Vec::new(),
            has_decided: false,
            said: [false; 4],
            metrics: None,
            settings: Settings::default(),
            reader: Reader::new("settings", Settings::read)?,
            lacks_settings: false,
            changes: Changes::listen()?,
            news: 0,
            capturer: None,
            sampling: Sampling::default(),
            looking: Looking::default(),
            watching,
            recording: Recording::default(),
            guest: None,
            gone: false,
        };
        let limits = instance.config.punt_limits;
        instance.follower.set_punt_limits(&limits);
        if is_free {
            instance.serve();
        }
        instance.vouch();
        instance.decide_first();
        match before {
            Before::Nobody => {}
            Before::Running(taking) => {
                instance.take_over(taking)?;
                instance.serve();
            }
            Before::Ended(kept) => instance.take_up(kept)?,
        }
        Ok(instance)
    }

    /// The one line that says that it forwards, and how.
    pub fn ready_line(&self) -> String {
        let modes = self.follower.engine().modes();
        let ports = self.config.ports.iter().map(|port| {
            let of_it = modes.iter().find(|mode| mode.port == *port);
            format!("{port}={}", of_it.map_or("none", |mode| mode.mode))
        });
        let ports: Vec<String> = ports.collect();
        let (v4, v6) = self.follower.mirror().routes();
        format!(
            "ready engine={} {} routes4={v4} routes6={v6} load_seconds={:.3}",
            self.follower.engine().name(),
            ports.join(" "),
            self.follower.health().load.as_secs_f64()
        )
    }

    /// Runs until told to stop, and ends for nothing else: what fails is tried again
    /// ([`Troubles`](crate::control_plane::troubles::Troubles)).
    pub fn run(&mut self, signals: &Signals) {
        self.supervisor.ready();
        while !signals.stop.load(Ordering::Relaxed) && !self.gone {
            self.sleep();
            self.follower.follow();
            self.follow_settings();
            self.vouch();
            self.serve();
            if let Some(asked) = self.server.take() {
                self.answer(asked);
            }
            if signals.reload.swap(false, Ordering::Relaxed) {
                self.supervisor.reloading();
                self.reload();
                self.supervisor.ready();
            }
            let now = Instant::now();
            self.follower.tick(now);
            if let Err(error) = self.follower.check_engine() {
                log!(Level::Error, "engine", error);
            }
            self.say_what_has_no_room();
            self.guard(now);
            self.check(now);
            self.look_whether_ready(now);
            self.follow_guest(now);
            self.follow_capturer();
            self.follow_sampling(now);
            self.follow_looking(now);
            self.record(now);
            self.supervisor.alive(now);
        }
        self.supervisor.stopping();
        let reason = if self.gone { "taken over" } else { "signal" };
        log!(Level::Info, "stop", reason);
        self.leave_to_guest();
        self.leave_to_manager();
        if let Some(guest) = self.guest.take() {
            guest.stay();
        }
    }

    fn sleep(&self) {
        let longest = match self.follower.checking() {
            Checking::No if self.follower.is_resyncing() => WAITING,
            Checking::No if self.capturer.as_ref().is_some_and(Capturer::waits) => WAITING,
            Checking::No => vouching::INTERVAL,
            Checking::Waiting => WAITING,
            Checking::Comparing => Duration::ZERO,
        };
        let longest = if self.follower.is_busy() {
            Duration::ZERO
        } else {
            longest
        };
        let pause = self.follower.pause(Instant::now());
        let longest = if pause.is_zero() {
            longest
        } else {
            longest.min(pause)
        };
        let timeout = Timespec::try_from(longest).ok();
        let entry = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut polls = vec![
            entry(self.server.descriptor()),
            entry(self.reader.as_fd()),
            entry(self.changes.as_fd()),
        ];
        if pause.is_zero() {
            polls.push(entry(self.follower.descriptor()));
        }
        polls.extend(self.guard.descriptors().map(entry));
        polls.extend(self.capturer.as_ref().map(|one| entry(one.descriptor())));
        polls.extend(self.guest.as_ref().map(|guest| entry(guest.descriptor())));
        // Whoever has something is asked by all that follows.
        if event::poll(&mut polls, timeout.as_ref()).is_err() {
            // A signal, or fewer descriptors are allowed than these.
            std::thread::sleep(longest.min(WAITING));
        }
    }

    /// Once for each kind, until all of it is carried again.
    fn say_what_has_no_room(&mut self) {
        let kinds = self.follower.not_carried().kinds();
        for ((what, count), said) in kinds.into_iter().zip(&mut self.said) {
            let is_left = count > 0;
            if is_left && !*said {
                let result = "no room: the kernel forwards by these until there is some; how many \
                              is in corelane_not_carried and show engine";
                log!(Level::Warning, "not-carried", what, count, result);
            } else if *said && !is_left {
                log!(Level::Info, "carried-again", what);
            }
            *said = is_left;
        }
    }
}
