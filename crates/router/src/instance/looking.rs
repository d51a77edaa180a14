//! The last frames of a reason, for whoever looks at it in the console.
//!
//! It is a capture of the reasons that somebody looks at. It ends as soon as there are enough frames of
//! each, and begins again for who still looks some seconds later: so a flood is shown for a moment, and
//! nobody pays for it while nobody looks. Whoever captures by `corelane capture` goes first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use fastpath::forward::Reason;
use fastpath::forward::capture::{Frames, Wanted};
use serde::Serialize;

use super::Instance;
use crate::management_plane::console::{Frame, Raw};

/// How long a reason is looked at after it was asked for.
const WATCHED: Duration = Duration::from_secs(5);
/// How long nothing is captured when there are frames of all.
const REST: Duration = Duration::from_secs(5);
/// How long until what could not begin is tried again.
const AGAIN: Duration = Duration::from_secs(5);
/// Frames that are kept of each reason, and bytes of each.
const KEPT: usize = 3;
const SNAP: u16 = 128;
/// Frames that are read in a turn of the control plane's thread.
const AT_ONCE: usize = 1024;

/// What is looked at.
#[derive(Debug, Default)]
pub(super) struct Looking {
    /// Until when.
    wanted: BTreeMap<Reason, Instant>,
    frames: BTreeMap<Reason, VecDeque<Raw>>,
    running: Option<Running>,
    /// Nothing begins before.
    rests: Option<Instant>,
    failed: Option<String>,
}

/// Ports show frames.
#[derive(Debug)]
struct Running {
    frames: Frames,
    /// How many have come of each since it began.
    came: BTreeMap<Reason, usize>,
}

/// What is answered.
#[derive(Debug, Serialize)]
pub(super) struct Looked {
    frames: Vec<Frame>,
    /// Why there are none.
    failed: Option<String>,
}

impl Running {
    fn reasons(&self) -> BTreeSet<Reason> {
        self.came.keys().copied().collect()
    }

    fn has_all(&self) -> bool {
        self.came.values().all(|frames| *frames >= KEPT)
    }
}

impl Looking {
    /// Those that are kept.
    pub(super) fn frames(&self) -> impl Iterator<Item = &Raw> {
        self.frames.values().flatten()
    }
}

impl Instance {
    /// The last frames of a reason. It is looked at from now on for a while.
    pub(super) fn look_at(&mut self, reason: Reason, now: Instant) -> Looked {
        let before = self.looking.wanted.insert(reason, now + WATCHED);
        if before.is_none() {
            // What it rests from was without this one.
            self.looking.rests = None;
        }
        self.follow_looking(now);
        let frames = self.looking.frames.get(&reason).into_iter().flatten();
        Looked {
            frames: frames.map(|raw| raw.told(&self.follower)).collect(),
            failed: self.looking.failed.clone(),
        }
    }

    /// Begins, goes on or ends, as is wanted now.
    pub(super) fn follow_looking(&mut self, now: Instant) {
        let looking = &mut self.looking;
        looking.wanted.retain(|_, until| now < *until);
        let wanted: BTreeSet<Reason> = looking.wanted.keys().copied().collect();
        looking.frames.retain(|reason, _| wanted.contains(reason));
        if wanted.is_empty() {
            looking.failed = None;
            return self.end_looking();
        }
        if self.guest.is_some() {
            return self.end_looking();
        }
        if let Some(capturer) = &self.capturer {
            let process = capturer.process();
            looking.failed = Some(format!(
                "process {process} captures; frames are shown here when that has ended"
            ));
            return;
        }
        let runs_for = looking.running.as_ref().map(Running::reasons);
        match runs_for {
            Some(reasons) if reasons == wanted => self.tend_looking(now),
            _ if looking.rests.is_some_and(|until| now < until) => {}
            _ => self.begin_looking(&wanted, now),
        }
    }

    fn begin_looking(&mut self, wanted: &BTreeSet<Reason>, now: Instant) {
        self.end_looking();
        match self.try_looking(wanted) {
            Ok(running) => {
                self.looking.running = Some(running);
                self.looking.failed = None;
            }
            Err(error) => {
                // It may have begun.
                if let Some(forwarder) = self.follower.forwarder_mut() {
                    forwarder.end_capture();
                }
                self.looking.failed = Some(error);
                self.looking.rests = Some(now + AGAIN);
            }
        }
    }

    fn try_looking(&mut self, wanted: &BTreeSet<Reason>) -> Result<Running, String> {
        let name = self.follower.engine().name();
        let forwarder = self.follower.forwarder_mut();
        let forwarder = forwarder.ok_or_else(|| format!("engine {name} has no program"))?;
        let capture = Wanted {
            reasons: wanted.iter().copied().collect(),
            forwarded: false,
            every: 1,
            snap: SNAP,
            filter: None,
            ports: Vec::new(),
        };
        forwarder
            .capture(capture)
            .map_err(|error| error.to_string())?;
        let [ring, counts] = forwarder.captured().ok_or("no port shows frames")?;
        let cpus = bpf::map::possible_cpus().map_err(|error| error.to_string())?;
        let frames = ring.try_clone_to_owned().and_then(|ring| {
            let counts = counts.try_clone_to_owned()?;
            Frames::new(ring, counts, cpus)
        });
        let came = wanted.iter().map(|reason| (*reason, 0)).collect();
        frames
            .map(|frames| Running { frames, came })
            .map_err(|error| format!("reading frames: {error}"))
    }

    fn tend_looking(&mut self, now: Instant) {
        if let Some(forwarder) = self.follower.forwarder_mut()
            && let Some(state) = forwarder.tend_capture()
        {
            let failed = state.failed.first().filter(|_| state.ports.is_empty());
            self.looking.failed = failed.map(|(_, why)| why.clone());
        }
        let Looking {
            frames, running, ..
        } = &mut self.looking;
        let Some(running) = running else {
            return;
        };
        for _ in 0..AT_ONCE {
            let Some(shown) = running.frames.next_frame() else {
                break;
            };
            let Some(reason) = shown.reason else {
                continue;
            };
            let Some(came) = running.came.get_mut(&reason).filter(|came| **came < KEPT) else {
                continue;
            };
            *came += 1;
            let kept = frames.entry(reason).or_default();
            kept.push_back(Raw::of(&shown));
            if kept.len() > KEPT {
                kept.pop_front();
            }
        }
        if running.has_all() {
            self.end_looking();
            self.looking.rests = Some(now + REST);
        }
    }

    /// Ports run their own programs again. What is still wanted begins anew.
    pub(super) fn end_looking(&mut self) {
        if self.looking.running.take().is_some()
            && let Some(forwarder) = self.follower.forwarder_mut()
        {
            forwarder.end_capture();
        }
    }
}
