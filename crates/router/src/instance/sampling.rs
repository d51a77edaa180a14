//! Samples are taken while somebody wants them ([`crate::samples`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Instance;
use crate::log::{Level, log};
use crate::management_plane::console::Raw;
use crate::management_plane::forms::Hitters;
use crate::samples::{Counts, Sampler};

/// How often the reader is told what the ports have received.
const TELL: Duration = Duration::from_millis(200);
/// How long samples are taken for whoever asked who most of the traffic is.
const WATCHED: Duration = Duration::from_secs(5);
/// How long until what could not begin is tried again.
const AGAIN: Duration = Duration::from_secs(10);

/// Whether samples are taken.
#[derive(Debug, Default)]
pub(super) struct Sampling {
    sampler: Option<Sampler>,
    told: Option<Instant>,
    /// When it could not begin, and why.
    failed: Option<(Instant, String)>,
    /// Ports that cannot be sampled, of which that has been said.
    said: Vec<(u32, String)>,
    counts: Arc<Counts>,
    /// Until then somebody wants to see who most of the traffic is.
    watched: Option<Instant>,
}

impl Sampling {
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The latest samples.
    pub(super) fn recent(&self) -> Vec<Raw> {
        self.sampler
            .as_ref()
            .map(Sampler::recent)
            .unwrap_or_default()
    }

    /// Who most of the traffic is, while somebody looks at that.
    pub(super) fn hitters_of_now(&self) -> Option<Hitters> {
        let sampler = self.sampler.as_ref().filter(|_| self.watched.is_some())?;
        Some(sampler.hitters())
    }
}

impl Instance {
    /// Who most of the traffic is. Samples are taken for that from now on for a while.
    pub(super) fn hitters(&mut self, now: Instant) -> Hitters {
        self.sampling.watched = Some(now + WATCHED);
        self.follow_sampling(now);
        let failed = self.sampling.failed.as_ref();
        match &self.sampling.sampler {
            Some(sampler) => sampler.hitters(),
            None => Hitters {
                failed: failed.map(|(_, why)| why.clone()),
                ..Hitters::default()
            },
        }
    }

    /// Begins, goes on or ends, as is wanted now.
    pub(super) fn follow_sampling(&mut self, now: Instant) {
        let is_watched = self.sampling.watched.is_some_and(|end| now < end);
        let is_wanted = is_watched
            || self.config.sflow.export().is_some()
            || self.config.recorder.every().is_some();
        let is_wanted = is_wanted && self.guest.is_none();
        match (is_wanted, self.sampling.sampler.is_some()) {
            (false, false) => {}
            (false, true) => self.end_sampling(),
            (true, false) => self.begin_sampling(now),
            (true, true) => self.tend_sampling(now),
        }
    }

    fn begin_sampling(&mut self, now: Instant) {
        let waits = |(failed, _): &(Instant, String)| now.duration_since(*failed) < AGAIN;
        if self.sampling.failed.as_ref().is_some_and(waits) {
            return;
        }
        match self.try_sampling() {
            Ok(sampler) => {
                self.sampling.sampler = Some(sampler);
                self.sampling.failed = None;
                self.tend_sampling(now);
            }
            Err(error) => {
                let before = self.sampling.failed.replace((now, error.clone()));
                if before.is_none_or(|(_, before)| before != error) {
                    let result = "no samples are taken; it is tried again";
                    log!(Level::Warning, "sampling", error, result);
                }
            }
        }
    }

    fn try_sampling(&mut self) -> Result<Sampler, String> {
        let export = self.config.sflow.export();
        let every = self.config.recorder.every();
        let asker = self.server.asker().map_err(|error| error.to_string())?;
        let name = self.follower.engine().name();
        let forwarder = self.follower.forwarder_mut();
        let forwarder = forwarder.ok_or_else(|| format!("engine {name} has no program"))?;
        forwarder
            .take_samples()
            .map_err(|error| error.to_string())?;
        let sampled = forwarder.sampled().ok_or("there are no samples")?;
        let counts = Arc::clone(&self.sampling.counts);
        let sampler = Sampler::start(sampled, export, every, asker, counts);
        sampler.map_err(|error| {
            forwarder.end_samples();
            format!("beginning to read samples: {error}")
        })
    }

    fn tend_sampling(&mut self, now: Instant) {
        let due = |told| now.duration_since(told) >= TELL;
        if !self.sampling.told.is_none_or(due) {
            return;
        }
        self.sampling.told = Some(now);
        let (sampling, forwarder) = (&mut self.sampling, self.follower.forwarder_mut());
        let (Some(sampler), Some(forwarder)) = (&sampling.sampler, forwarder) else {
            return;
        };
        let failed = forwarder.tend_samples().unwrap_or_default().failed;
        for (port, error) in failed.iter().filter(|one| !sampling.said.contains(one)) {
            let result = "its frames are not sampled; look at corelane show ports";
            log!(Level::Warning, "sampling", port, error, result);
        }
        sampling.said = failed;
        sampler.tell(forwarder);
        sampler.watch(sampling.watched.is_some_and(|end| now < end));
    }

    /// Ports run their own programs again. What is still wanted begins anew.
    pub(super) fn end_sampling(&mut self) {
        if self.sampling.sampler.take().is_some()
            && let Some(forwarder) = self.follower.forwarder_mut()
        {
            forwarder.end_samples();
        }
        self.sampling.told = None;
        self.sampling.failed = None;
    }
}
