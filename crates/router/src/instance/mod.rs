//! A running router: the follower, the policy guard, the management plane and the signals, on one
//! thread.
//!
//! It sleeps in `poll` until the kernel announces something, somebody asks something, or something
//! is due. It ends on SIGINT or SIGTERM; dropping the engine detaches it, and the kernel forwards
//! from then on. The same happens when the process is killed, because the kernel detaches what a
//! dead process held.

mod checks;
mod policy;
mod reload;
mod vouching;

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{self, PollFd, PollFlags, Timespec};
use serde_json::json;

use self::checks::Checks;
use self::vouching::Vouching;
use crate::control_plane::follower::{Checking, FollowError, Follower};
use crate::control_plane::guard::{Finding, Guard};
use crate::control_plane::mirror::Mirror;
use crate::control_plane::reader::Reader;
use crate::control_plane::settings::{Changes, Settings, Watched};
use crate::engine::Engine;
use crate::log::{Level, log};
use crate::management_plane::config::Config;
use crate::management_plane::server::{Asked, Question, Server};
use crate::management_plane::supervisor::Supervisor;
use crate::management_plane::{answers, metrics};

/// How often the counters are read for metrics at most.
const METRICS_PAUSE: Duration = Duration::from_millis(100);

/// The longest sleep while another thread reads the kernel's tables.
const WAITING: Duration = Duration::from_millis(2);

/// Why a router did not start or stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Following the kernel failed.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// The management plane could not start.
    #[error("{0}")]
    Management(#[from] std::io::Error),
}

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
    /// The latest metrics and when they were read.
    metrics: Option<(Instant, String)>,
    /// The links' settings as they were read last, and who reads them.
    settings: Settings,
    reader: Reader<Vec<Watched>, Settings>,
    /// They could not be read the last time.
    lacks_settings: bool,
    /// What tells of changes of settings.
    changes: Changes,
    /// As the latest reading was begun ([`crate::control_plane::surroundings::Surroundings`]).
    news: u64,
    checks: Checks,
    vouching: Vouching,
    supervisor: Supervisor,
}

impl Instance {
    /// Fills the engine from the kernel's tables, starts the management plane. `file` is what a
    /// reload reads.
    ///
    /// # Errors
    /// When anything refuses; nothing is forwarded then.
    pub fn start(
        config: Config,
        file: Option<PathBuf>,
        engine: Box<dyn Engine>,
    ) -> Result<Self, InstanceError> {
        let mut server = Server::new()?;
        server.listen_unix(&config.socket())?;
        if let Some(address) = config.metrics.0 {
            server.listen_http(address)?;
        }
        // Ports start as the kernel's, and are taken over when the guard has looked.
        let all = config.ports.clone();
        let keep = |mirror: &mut Mirror| {
            mirror.keep_links(all.into_iter().collect());
        };
        let follower = Follower::start_prepared(&config.ports, engine, keep)?;
        let now = Instant::now();
        let mut instance = Self {
            checks: Checks::every(config.verify, now),
            vouching: Vouching::new(config.stale.0),
            supervisor: Supervisor::from_environment(now),
            as_read: file.as_ref().and_then(|file| Config::read(file).ok()),
            config,
            file,
            follower,
            server,
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
        };
        let limits = instance.config.punt_limits;
        instance.follower.set_punt_limits(&limits);
        instance.vouch()?;
        instance.decide_first()?;
        Ok(instance)
    }

    /// The one line that says that it forwards, and how.
    pub fn ready_line(&self) -> String {
        let modes: Vec<String> = self
            .follower
            .engine()
            .modes()
            .iter()
            .map(|mode| format!("{}={}", mode.port, mode.mode))
            .collect();
        let (v4, v6) = self.follower.mirror().routes();
        format!(
            "ready engine={} {} routes4={v4} routes6={v6} load_seconds={:.3}",
            self.follower.engine().name(),
            modes.join(" "),
            self.follower.health().load.as_secs_f64()
        )
    }

    /// Runs until told to stop.
    ///
    /// # Errors
    /// When the kernel or the engine refuses something that it must not; the kernel forwards from
    /// then on.
    pub fn run(&mut self, signals: &Signals) -> Result<(), InstanceError> {
        self.supervisor.ready();
        while !signals.stop.load(Ordering::Relaxed) {
            self.sleep();
            self.follower.follow()?;
            self.follow_settings()?;
            self.vouch()?;
            for asked in self.server.take() {
                self.answer(&asked)?;
            }
            if signals.reload.swap(false, Ordering::Relaxed) {
                self.supervisor.reloading();
                self.reload()?;
                self.supervisor.ready();
            }
            let now = Instant::now();
            self.follower.tick(now)?;
            if let Err(error) = self.follower.check_engine() {
                log!(Level::Error, "engine", error);
            }
            self.say_what_has_no_room();
            self.guard(now)?;
            self.check(now)?;
            self.supervisor.alive(now);
        }
        self.supervisor.stopping();
        log!(Level::Info, "stop", reason = "signal");
        Ok(())
    }

    fn sleep(&self) {
        let longest = match self.follower.checking() {
            Checking::No if self.follower.is_resyncing() => WAITING,
            Checking::No => vouching::INTERVAL,
            Checking::Waiting => WAITING,
            Checking::Comparing => Duration::ZERO,
        };
        let longest = if self.follower.is_busy() {
            Duration::ZERO
        } else {
            longest
        };
        let longest = Timespec::try_from(longest).ok();
        let entry = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut polls = vec![
            entry(self.follower.descriptor()),
            entry(self.server.descriptor()),
            entry(self.reader.as_fd()),
            entry(self.changes.as_fd()),
        ];
        polls.extend(self.guard.descriptors().map(entry));
        // Whoever has something is asked by all that follows.
        let _ready = event::poll(&mut polls, longest.as_ref());
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

    /// The metrics page. Counters of every core and next hop take a while to read, so who asks more
    /// often than [`METRICS_PAUSE`] gets the same again.
    fn metrics(&mut self) -> String {
        if let Some((read, page)) = &self.metrics
            && read.elapsed() < METRICS_PAUSE
        {
            return page.clone();
        }
        let page =
            metrics::page(&self.follower).unwrap_or_else(|error| format!("# {error}\n# EOF\n"));
        self.metrics = Some((Instant::now(), page.clone()));
        page
    }

    fn answer(&mut self, asked: &Asked) -> Result<(), InstanceError> {
        let text = match &asked.question {
            Question::Metrics => self.metrics(),
            Question::Show(words) if words == &["verify"] => {
                return self.asked_to_verify(asked.answer.clone());
            }
            Question::Show(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let failed = self.follower.engine().failed_ports().into_iter();
                let failed = failed.map(|(port, error)| format!("port {port}: {error}"));
                let kept: Vec<String> = self
                    .findings
                    .iter()
                    .map(|finding| finding.what.clone())
                    .chain(self.follower.engine().resting())
                    .chain(failed)
                    .collect();
                let value = answers::show(&words, &self.follower, &kept)
                    .unwrap_or_else(|error| json!({ "error": error.to_string() }));
                format!("{value}\n")
            }
        };
        // Who asked may have gone away.
        let _ = asked.answer.try_send(text);
        Ok(())
    }
}
