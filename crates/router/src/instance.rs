//! A running router: the follower, the policy guard, the management plane and the signals, on one thread.
//!
//! It sleeps in `poll` until the kernel announces something, somebody asks something, or something is due. It ends on
//! SIGINT or SIGTERM; dropping the engine detaches it, and the kernel forwards from then on. The same happens when the
//! process is killed, because the kernel detaches what a dead process held.

use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::control_plane::follower::{FollowError, Follower};
use crate::control_plane::guard::{self, Finding, Scope, Watched};
use crate::control_plane::mirror::Mirror;
use crate::control_plane::netlink::socket::Socket;
use crate::engine::{Change, Engine};
use crate::log::{Level, log};
use crate::management_plane::answers;
use crate::management_plane::config::Config;
use crate::management_plane::metrics;
use crate::management_plane::server::{Asked, Question, Server};

/// How often the kernel's rules are looked at; nftables changes are noticed at once.
const GUARD_INTERVAL: Duration = Duration::from_secs(2);
/// The longest sleep.
const TICK: Duration = Duration::from_millis(250);

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
    rules: Option<Socket>,
    findings: Vec<Finding>,
    guard_due: Instant,
    verify_due: Option<Instant>,
}

impl Instance {
    /// Fills the engine from the kernel's tables, starts the management plane. `file` is what a reload reads.
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
        if let Some(address) = config.metrics {
            server.listen_http(address)?;
        }
        // Ports start as the kernel's, and are taken over when the guard has looked.
        let all = config.ports.clone();
        let keep = |mirror: &mut Mirror, out: &mut Vec<Change>| {
            for port in &all {
                mirror.keep_port(port, true, out);
            }
        };
        let follower = Follower::start_prepared(&config.ports, engine, keep)?;
        let now = Instant::now();
        let mut instance = Self {
            verify_due: config.verify.map(|interval| now + interval),
            as_read: file.as_ref().and_then(|file| Config::read(file).ok()),
            config,
            file,
            follower,
            server,
            rules: guard::watch_nftables().ok(),
            findings: Vec::new(),
            guard_due: now + GUARD_INTERVAL,
        };
        instance.guard(true)?;
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
    /// When the kernel or the engine refuses something that it must not; the kernel forwards from then on.
    pub fn run(&mut self, signals: &Signals) -> Result<(), InstanceError> {
        while !signals.stop.load(Ordering::Relaxed) {
            self.sleep();
            self.follower.follow()?;
            for asked in self.server.take() {
                self.answer(&asked)?;
            }
            if signals.reload.swap(false, Ordering::Relaxed) {
                self.reload()?;
            }
            let now = Instant::now();
            self.follower.tick(now)?;
            if let Err(error) = self.follower.check_engine() {
                log!(Level::Error, "engine", error);
            }
            if now >= self.guard_due || self.rules_changed() {
                self.guard_due = now + GUARD_INTERVAL;
                self.guard(false)?;
            }
            if self.verify_due.is_some_and(|due| now >= due) {
                self.verify_due = self.config.verify.map(|interval| now + interval);
                self.verify()?;
            }
        }
        log!(Level::Info, "stop", reason = "signal");
        Ok(())
    }

    fn sleep(&self) {
        let entry = |fd: RawFd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let rules = self.rules.as_ref().map_or(-1, Socket::raw);
        let mut polls = [
            entry(self.follower.descriptor()),
            entry(self.server.descriptor()),
            entry(rules),
        ];
        // SAFETY: the pointer and the count describe `polls`; a negative descriptor is skipped.
        unsafe {
            libc::poll(
                polls.as_mut_ptr(),
                polls.len() as libc::nfds_t,
                TICK.as_millis() as i32,
            )
        };
    }

    fn rules_changed(&mut self) -> bool {
        let mut changed = false;
        if let Some(rules) = &mut self.rules {
            use crate::control_plane::netlink::socket::Received;
            while !matches!(rules.receive(false, |_| {}), Ok(Received::Nothing) | Err(_)) {
                changed = true;
            }
        }
        changed
    }

    fn answer(&mut self, asked: &Asked) -> Result<(), InstanceError> {
        let text = match &asked.question {
            Question::Metrics => {
                metrics::page(&self.follower).unwrap_or_else(|error| format!("# {error}\n# EOF\n"))
            }
            Question::Show(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let value = if words == ["verify"] {
                    self.verify()?;
                    let result = self.follower.verified().map(answers::verification);
                    json!({ "schema": "corelane-verify/1", "verification": result, "table": self.follower.engine().keeps_table() })
                } else {
                    let kept = self
                        .findings
                        .iter()
                        .map(|finding| finding.what.clone())
                        .collect::<Vec<_>>();
                    answers::show(&words, &self.follower, &kept)
                        .unwrap_or_else(|error| json!({ "error": error.to_string() }))
                };
                format!("{value}\n")
            }
        };
        // Who asked may have gone away.
        let _ = asked.answer.try_send(text);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), InstanceError> {
        if !self.follower.engine().keeps_table() {
            return Ok(());
        }
        let result = self.follower.verify()?;
        let (compared, different, seconds) =
            (result.compared, result.different, result.took.as_secs_f64());
        if different == 0 {
            log!(Level::Info, "verify", compared, different, seconds);
        } else {
            let first = result
                .differences
                .first()
                .map(|difference| format!("{difference:?}"))
                .unwrap_or_default();
            log!(
                Level::Error,
                "verify",
                compared,
                different,
                seconds,
                first,
                remedy = "re-reading the kernel's tables"
            );
            self.follower.resync("the comparison found differences")?;
        }
        Ok(())
    }

    /// Looks at what the kernel does besides routing, and decides which ports and families stay with it.
    fn guard(&mut self, first: bool) -> Result<(), InstanceError> {
        let around = self.follower.mirror().around();
        let watched: Vec<Watched> = around
            .ports()
            .into_iter()
            .map(|port| Watched {
                name: port.name,
                index: port.ifindex,
            })
            .collect();
        let mut findings = guard::look(&watched);
        findings.extend(guard::policy_rules(self.follower.mirror()));
        if !first && findings == self.findings {
            return Ok(());
        }
        let bypass = self.config.bypass_netfilter;
        for finding in findings
            .iter()
            .filter(|finding| !self.findings.contains(finding))
        {
            let scope = match &finding.scope {
                Scope::All => "all ports".to_owned(),
                Scope::V4 => "IPv4".to_owned(),
                Scope::V6 => "IPv6".to_owned(),
                Scope::Port(name) => name.clone(),
            };
            let what = &finding.what;
            if bypass && !finding.switched_off {
                log!(
                    Level::Warning,
                    "bypass",
                    scope,
                    what,
                    because = "bypass-netfilter"
                );
            } else {
                log!(
                    Level::Warning,
                    "left-to-kernel",
                    scope,
                    what,
                    remedy = "remove it, or --bypass-netfilter"
                );
            }
        }
        for finding in self
            .findings
            .iter()
            .filter(|finding| !findings.contains(finding))
        {
            log!(Level::Info, "no-longer-there", what = finding.what);
        }
        let keeps_table = self.follower.engine().keeps_table();
        let holds = |scope: &Scope| {
            let counts = |finding: &Finding| {
                if finding.switched_off {
                    keeps_table
                } else {
                    !bypass
                }
            };
            findings
                .iter()
                .any(|finding| finding.scope == *scope && counts(finding))
        };
        // Without a table of its own, an engine cannot tell the families apart.
        let all = holds(&Scope::All) || (!keeps_table && (holds(&Scope::V4) || holds(&Scope::V6)));
        let (v4, v6) = (!all && !holds(&Scope::V4), !all && !holds(&Scope::V6));
        let kept: Vec<(String, bool)> = self
            .config
            .ports
            .iter()
            .map(|name| {
                (
                    name.clone(),
                    all || (!v4 && !v6) || holds(&Scope::Port(name.clone())),
                )
            })
            .collect();
        self.findings = findings;
        self.follower.change(|mirror, out| {
            mirror.enable_families(v4, v6, out);
            for (name, kept) in &kept {
                mirror.keep_port(name, *kept, out);
            }
        })?;
        Ok(())
    }

    /// Reads the configuration again. What cannot change while running is named and left as it is.
    fn reload(&mut self) -> Result<(), InstanceError> {
        let Some(file) = &self.file else {
            log!(
                Level::Warning,
                "reload",
                result = "nothing to read: started without a file"
            );
            return Ok(());
        };
        let config = match Config::read(file) {
            Ok(config) => config,
            Err(error) => {
                log!(
                    Level::Error,
                    "reload",
                    error,
                    result = "the configuration of before stays"
                );
                return Ok(());
            }
        };
        // Only what the file says otherwise than before is changed, so that the command line keeps winning.
        let before = self.as_read.replace(config.clone()).unwrap_or_default();
        let fixed = |config: &Config| {
            let Config {
                engine,
                require,
                instance,
                run_directory,
                metrics,
                ..
            } = config.clone();
            (engine, require, instance, run_directory, metrics)
        };
        if fixed(&config) != fixed(&before) {
            let what =
                "engine, require, instance, run-directory and metrics change at the next start";
            log!(Level::Warning, "reload", what);
        }
        let ports = if config.ports == before.ports {
            self.config.ports.clone()
        } else {
            config.ports
        };
        let new: Vec<&str> = ports
            .iter()
            .filter(|name| !self.config.ports.contains(name))
            .map(String::as_str)
            .collect();
        log!(
            Level::Info,
            "reload",
            ports = ports.join(","),
            new = new.join(",")
        );
        self.config.ports.clone_from(&ports);
        if config.bypass_netfilter != before.bypass_netfilter {
            self.config.bypass_netfilter = config.bypass_netfilter;
        }
        if config.verify != before.verify {
            self.config.verify = config.verify;
            self.verify_due = config.verify.map(|interval| Instant::now() + interval);
        }
        self.follower.change(|mirror, out| {
            mirror.set_ports(&ports, out);
        })?;
        self.guard(true)?;
        Ok(())
    }
}
