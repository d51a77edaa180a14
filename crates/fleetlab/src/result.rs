//! What is written: each run of each event.

use host::Environment;
use serde::{Deserialize, Serialize};

use crate::daemon::Kind;
use crate::event::{Event, Forwarder};
use crate::timeline::Timeline;

/// Name and version of the JSON form.
pub const SCHEMA: &str = "corelane-fleet-lab/1";

/// What events of a fleet cost, measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetLab {
    /// The form.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// Where it was measured.
    pub environment: Environment,
    /// Nodes behind the spreader.
    pub nodes: u8,
    /// Flows, each a UDP source port.
    pub flows: u16,
    /// All flows together.
    pub frames_per_second: u32,
    /// The daemon of the spreader and of all nodes.
    pub daemon: Kind,
    /// BFD sends a packet in so many ms, and a session is down after three.
    #[serde(default = "usual_bfd")]
    pub bfd_ms: u16,
    /// Whether the spreader had a resilient group of next hops.
    pub resilient: bool,
    /// The engine that was asked for; `null` when each node chose.
    pub engine: Option<String>,
    /// In the order in which they were measured.
    pub runs: Vec<Run>,
}

/// What documents stand for that do not say.
fn usual_bfd() -> u16 {
    100
}

/// One event, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// What happened.
    pub event: Event,
    /// Who forwarded in the nodes.
    pub forwarder: Forwarder,
    /// 1 and up.
    pub repetition: u32,
    /// To which node, 1 and up.
    pub node: u8,
    /// Frames sent while it was watched.
    pub sent: u64,
    /// Of these, the ones that never came.
    pub lost: u64,
    /// Frames that came twice.
    pub duplicates: u64,
    /// Frames that came after one of their flow that was sent later (RFC 4737).
    pub reordered: u64,
    /// The longest time without a frame of a flow, from its first lost frame to the next that came.
    /// It is as exact as the time between two frames of a flow.
    pub outage_ms: f64,
    /// Flows that changed their node.
    pub moved: u64,
    /// Of these, flows that changed from one node to another, neither of which was the event's.
    pub moved_needlessly: u64,
    /// When the spreader noticed, from the event's beginning: the first of the next two.
    pub noticed_ms: Option<f64>,
    /// When its daemon's log says that the session with the node, or the node's route, changed.
    pub logged_ms: Option<f64>,
    /// When its kernel's route changed.
    pub rerouted_ms: Option<f64>,
    /// How often the spreader lost the session with a node that was none of the event's.
    pub false_downs: u64,
    /// Frames a second that came on top, by the event `load`.
    pub load_per_second: f64,
    /// When all was well again, from the event's beginning: when the latest flow that had lost had a
    /// frame again. `null` when none was lost, and when a flow was not well at the end.
    pub healed_ms: Option<f64>,
    /// How long the event itself took, such as the verb `drain`.
    pub took_ms: f64,
    /// Frames that the nodes' kernels forwarded; Corelane forwarded the others.
    pub by_kernel: u64,
    /// The longest time in which the sender was kept from running.
    pub sender_pause_ms: f64,
    /// What came of the frames, in steps of time.
    pub timeline: Timeline,
    /// What did not go as it should.
    pub note: Option<String>,
}

/// The runs of an event with one forwarder.
pub(crate) struct Runs<'a> {
    pub(crate) event: Event,
    pub(crate) forwarder: Forwarder,
    pub(crate) all: Vec<&'a Run>,
}

impl FleetLab {
    /// Puts the runs of another measurement of the same fleet behind these. Repetitions go on
    /// counting.
    ///
    /// # Errors
    /// What differs, when the fleets do.
    pub fn join(&mut self, other: Self) -> Result<(), String> {
        let facts = |lab: &Self| {
            [
                ("nodes", lab.nodes.to_string()),
                ("flows", lab.flows.to_string()),
                ("frames_per_second", lab.frames_per_second.to_string()),
                ("daemon", lab.daemon.to_string()),
                ("bfd_ms", lab.bfd_ms.to_string()),
                ("resilient", lab.resilient.to_string()),
                ("engine", lab.engine.clone().unwrap_or_default()),
                ("machine", lab.environment.machine()),
            ]
        };
        let (ours, theirs) = (facts(self), facts(&other));
        if let Some(((what, one), (_, another))) =
            ours.iter().zip(&theirs).find(|(one, other)| one != other)
        {
            return Err(format!(
                "{what} is {one:?} in the first and {another:?} here: only runs of one fleet can be joined"
            ));
        }
        let latest = self
            .runs
            .iter()
            .map(|run| run.repetition)
            .max()
            .unwrap_or(0);
        let runs = other.runs.into_iter();
        self.runs.extend(runs.map(|run| Run {
            repetition: latest + run.repetition,
            ..run
        }));
        Ok(())
    }

    /// The runs of each event, in the order of the events' first runs; the kernel alone behind
    /// Corelane.
    pub(crate) fn by_event(&self) -> Vec<Runs<'_>> {
        let mut events: Vec<Event> = Vec::new();
        for run in &self.runs {
            if !events.contains(&run.event) {
                events.push(run.event);
            }
        }
        let both = [Forwarder::Corelane, Forwarder::Kernel];
        let all = events.iter().flat_map(|&event| {
            both.map(|forwarder| {
                let of_it = |run: &&Run| (run.event, run.forwarder) == (event, forwarder);
                Runs {
                    event,
                    forwarder,
                    all: self.runs.iter().filter(of_it).collect(),
                }
            })
        });
        all.filter(|of_event| !of_event.all.is_empty()).collect()
    }
}

impl Runs<'_> {
    /// The sum of a count over the runs.
    pub(crate) fn sum(&self, of: fn(&Run) -> u64) -> u64 {
        self.all.iter().map(|run| of(run)).sum()
    }

    /// Who forwards, and what happens.
    pub(crate) fn words(&self) -> String {
        match self.forwarder {
            Forwarder::Corelane => self.event.words().to_owned(),
            Forwarder::Kernel => format!("{}, kernel alone", self.event.words()),
        }
    }
}

impl Run {
    /// The share of the frames which came that kernels forwarded.
    pub(crate) fn share_of_kernels(&self) -> f64 {
        let came = self.sent.saturating_sub(self.lost).max(1);
        (self.by_kernel as f64 / came as f64).min(1.0)
    }
}
