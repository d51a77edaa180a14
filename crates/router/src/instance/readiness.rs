//! Whether the router does what it was asked to, for who announces it, balances to it or restarts it.
//!
//! It is *healthy* while somebody vouches for the routes, and *ready* while all [`Condition`]s
//! hold. Readiness waits: it goes when a condition has failed for [`FAILS_AFTER`], and comes when
//! all have held for [`HOLDS_AFTER`], so that who listens to it does not flap. While it is
//! draining it is not ready, at once and whatever holds.

use std::time::{Duration, Instant};

use super::Instance;
use crate::log::{Level, log};
use crate::management_plane::forms::{self, Health, Held};
use crate::management_plane::metrics::Fitness;

/// How often the conditions are looked at.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long one must fail until the router is not ready any more.
const FAILS_AFTER: Duration = Duration::from_secs(2);
/// How long all must hold until it is ready again.
const HOLDS_AFTER: Duration = Duration::from_secs(5);

/// One thing that must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    what: &'static str,
    /// Why it does not hold.
    fails: Option<String>,
}

/// What was found, and since when.
#[derive(Debug)]
pub(super) struct Readiness {
    conditions: Vec<Condition>,
    looked: Option<Instant>,
    ready: Steady,
    /// Somebody wants it out of traffic.
    draining: bool,
}

impl Readiness {
    pub(super) fn new() -> Self {
        Self {
            conditions: Vec::new(),
            looked: None,
            ready: Steady::default(),
            draining: false,
        }
    }

    /// Why conditions do not hold.
    pub(super) fn reasons(&self) -> Vec<String> {
        let fails = |condition: &Condition| condition.fails.clone();
        self.conditions.iter().filter_map(fails).collect()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining
    }

    /// It is to be out of traffic from now on, or in it again. That waits for nothing.
    pub(super) fn set_draining(&mut self, draining: bool) {
        if self.draining != draining {
            log!(Level::Info, "drain", draining);
        }
        self.draining = draining;
    }

    fn is_due(&self, now: Instant) -> bool {
        let since = |looked| now.saturating_duration_since(looked);
        self.looked.is_none_or(|looked| since(looked) >= INTERVAL)
    }

    fn found(&mut self, conditions: Vec<Condition>, now: Instant) {
        let holds = conditions.iter().all(|condition| condition.fails.is_none());
        self.ready.see(holds, now);
        (self.conditions, self.looked) = (conditions, Some(now));
    }
}

/// An answer that changes when the opposite has been seen for a while; the first is taken as it is.
#[derive(Debug, Default)]
struct Steady {
    answer: Option<bool>,
    /// Since when the opposite is seen.
    opposite: Option<Instant>,
}

impl Steady {
    fn see(&mut self, holds: bool, now: Instant) {
        let Some(answer) = self.answer else {
            self.answer = Some(holds);
            return;
        };
        if holds == answer {
            self.opposite = None;
            return;
        }
        let since = *self.opposite.get_or_insert(now);
        let patience = if holds { HOLDS_AFTER } else { FAILS_AFTER };
        if now.saturating_duration_since(since) >= patience {
            (self.answer, self.opposite) = (Some(holds), None);
        }
    }
}

impl Instance {
    /// Looks at the conditions, when that is due.
    pub(super) fn look_whether_ready(&mut self, now: Instant) {
        if self.readiness.is_due(now) {
            let conditions = self.conditions(now);
            self.readiness.found(conditions, now);
        }
    }

    /// The answer of `corelane health`, `/healthz` and `/readyz`.
    pub(super) fn health(&self) -> String {
        let draining = self.readiness.draining;
        let kept_out = Condition {
            what: "traffic is wanted",
            fails: draining.then(|| "draining, until corelane undrain".to_owned()),
        };
        let conditions = self.readiness.conditions.iter().chain([&kept_out]);
        let conditions = conditions.map(|condition| Held {
            what: condition.what,
            holds: condition.fails.is_none(),
            reason: condition.fails.clone(),
        });
        let Fitness { healthy, ready, .. } = self.fitness();
        forms::line(&Health {
            schema: forms::HEALTH,
            healthy,
            ready,
            draining,
            conditions: conditions.collect(),
        })
    }

    /// Whether traffic may come.
    pub(super) fn fitness(&self) -> Fitness {
        let draining = self.readiness.draining;
        Fitness {
            healthy: self.vouching.silence(Instant::now()).is_none(),
            ready: self.readiness.ready.answer == Some(true) && !draining,
            draining,
        }
    }

    fn conditions(&self, now: Instant) -> Vec<Condition> {
        let engine = self.follower.engine();
        let silence = self.vouching.silence(now);
        let routes = silence.map(|silence| {
            let seconds = silence.as_secs_f64();
            format!("nobody has vouched for them for {seconds:.1} s, so the kernel forwards")
        });
        let verified = self.follower.verified();
        let differs = verified.filter(|verified| verified.different > 0);
        let kernel = differs.map(|verified| {
            let count = verified.different;
            format!("{count} answers differ from the kernel's: corelane show engine lists some")
        });
        let kept: Vec<&str> = self.findings.iter().map(|one| one.what.as_str()).collect();
        let kept = (!kept.is_empty()).then(|| kept.join("; "));
        let troubles = self.follower.health().troubles.all();
        let troubles: Vec<String> = troubles
            .map(|(what, error)| format!("{what}: {error}"))
            .collect();
        let failed = (!troubles.is_empty()).then(|| troubles.join("; "));
        let all = [
            ("routes are followed", routes),
            ("answers are the kernel's", kernel),
            ("all ports forward", self.idle_ports()),
            ("all workers run", engine.resting()),
            ("nothing is left to the kernel", kept),
            ("nothing has failed", failed),
        ];
        all.map(|(what, fails)| Condition { what, fails }).to_vec()
    }

    /// Ports that do not forward, and why.
    fn idle_ports(&self) -> Option<String> {
        let engine = self.follower.engine();
        let (modes, failed) = (engine.modes(), engine.failed_ports());
        let ports = self.follower.mirror().around().ports();
        let why = |name: &String| {
            if let Some((_, error)) = failed.iter().find(|(port, _)| port == name) {
                return Some(format!("{name}: {error}"));
            }
            let Some(port) = ports.iter().find(|port| port.name == *name) else {
                return Some(format!("{name} is absent"));
            };
            if !port.settings.enabled {
                return Some(format!("{name} is down, or the kernel's"));
            }
            let is_attached = modes.iter().any(|mode| mode.port == *name);
            (!is_attached).then(|| format!("{name} is not attached yet"))
        };
        let idle: Vec<String> = self.config.ports.iter().filter_map(why).collect();
        (!idle.is_empty()).then(|| idle.join("; "))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/readiness.rs"]
mod tests;
