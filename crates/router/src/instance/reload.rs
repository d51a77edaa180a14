//! A reload changes what the file says otherwise than before, and nothing else; frames notice
//! nothing of it.

use std::time::Instant;

use super::Instance;
use crate::log::{Level, log};
use crate::management_plane::config::Config;

impl Instance {
    /// Reads the configuration again. What cannot change while running is named and left as it is.
    pub(super) fn reload(&mut self) {
        let Some(file) = &self.file else {
            log!(
                Level::Warning,
                "reload",
                result = "nothing to read: started without a file"
            );
            return;
        };
        let mut config = match Config::read(file) {
            Ok(config) => config,
            Err(error) => {
                log!(
                    Level::Error,
                    "reload",
                    error,
                    result = "the configuration of before stays"
                );
                return;
            }
        };
        // Only what the file says otherwise than before is changed, so that the command line keeps
        // winning.
        let mut before = self.as_read.replace(config.clone()).unwrap_or_default();
        let fixed = |config: &Config| {
            let Config {
                engine,
                require,
                instance,
                run_directory,
                metrics,
                metrics_allow,
                console,
                console_token,
                console_peers,
                busy_poll,
                long_frames,
                ..
            } = config.clone();
            let room = config.capacity();
            let console = (console, console_token, console_peers);
            let served = (instance, run_directory, metrics, metrics_allow, console);
            let fixed = (engine, require, served);
            (fixed, busy_poll, long_frames, room)
        };
        if fixed(&config) != fixed(&before) {
            let what = "engine, require, instance, run-directory, metrics, metrics-allow, console, \
                        console-token, console-peers, busy-poll, long-frames and the sizes change at the next start";
            log!(Level::Warning, "reload", what);
        }
        let ports = if config.ports == before.ports {
            self.config.ports.clone()
        } else {
            config.ports.clone()
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
        let (new, old) = (bypasses(&mut config), bypasses(&mut before));
        for ((now, new), old) in bypasses(&mut self.config).into_iter().zip(new).zip(old) {
            if new != old {
                *now = *new;
            }
        }
        if config.verify != before.verify {
            self.config.verify = config.verify;
            self.checks.set_interval(config.verify, Instant::now());
        }
        if config.stale != before.stale {
            self.config.stale = config.stale;
            self.vouching.set_bound(config.stale.0);
        }
        if config.sflow != before.sflow {
            self.config.sflow = config.sflow.clone();
            self.end_sampling();
        }
        if config.recorder != before.recorder {
            self.config.recorder = config.recorder.clone();
            self.end_sampling();
            if self.config.recorder.is_on() && self.watching.points(0).is_none() {
                let what = "recordings begin at the next start: there is no history yet";
                log!(Level::Warning, "reload", what);
            }
        }
        if config.punt_limits != before.punt_limits {
            self.config.punt_limits = config.punt_limits;
            self.follower.set_punt_limits(&config.punt_limits);
        }
        self.follower.change(|mirror| mirror.set_ports(&ports));
        // New ports are the kernel's until that look is over.
        self.guard.want_links();
        self.has_decided = false;
        self.decide();
    }
}

/// Which of the kernel's treatments are gone past.
fn bypasses(config: &mut Config) -> [&mut bool; 5] {
    [
        &mut config.bypass_netfilter,
        &mut config.bypass_ipsec,
        &mut config.bypass_policy_rules,
        &mut config.bypass_tc,
        &mut config.bypass_vlan_offload,
    ]
}
