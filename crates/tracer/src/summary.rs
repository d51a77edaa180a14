//! The verdict and its figures as JSON, schema `corelane-trace/1`. Times are nanoseconds, shares
//! are of one.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::analyse::Analysis;
use crate::analyse::budget::Spent;
use crate::analyse::locks::{Cost, Range};
use crate::event::Kind;
use crate::trace::Trace;
use crate::verdict::{Verdict, title, verdict, what, words};

/// Name and version of the JSON form.
const SCHEMA: &str = "corelane-trace/1";

/// What `corelane trace report` says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The command or process under study.
    pub command: String,
    /// The machine: host, kernel, architecture.
    pub environment: Machine,
    /// Plain sentences.
    pub verdict: Vec<String>,
    /// False when there is too little to judge by.
    pub enough_evidence: bool,
    /// Events in the trace.
    pub events: u64,
    /// Events lost.
    pub events_lost: u64,
    /// Share of core time that is not explained.
    pub unexplained: f64,
    /// Processor time of the recorder.
    pub recorder_time: u64,
    /// Where the cores' time went.
    pub budget: BudgetSummary,
    /// The share of work that only one core can do.
    pub serial_fraction: Option<f64>,
    /// Where it lies.
    pub serial_fraction_range: Option<[f64; 2]>,
    /// The most that any number of cores gives.
    pub speedup_ceiling: Option<f64>,
    /// Locks, the costliest first.
    pub locks: Vec<LockSummary>,
    /// What the end waited for: words and time.
    pub critical_path: Vec<(String, u64)>,
    /// Thread moves between cores: name, moves.
    pub migrations: Vec<(String, u64)>,
    /// Interrupts: core, name, count, time.
    pub interrupts: Vec<(u16, String, u64, u64)>,
    /// Progress points: name, events a second.
    pub progress: Vec<(String, f64)>,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// The host's name.
    pub host: String,
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// Cores recorded.
    pub cores: usize,
    /// Who recorded.
    pub recorder: String,
}

/// The budget, with its waits and thieves in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetSummary {
    /// Where the cores' time went.
    #[serde(flatten)]
    pub spent: Spent,
    /// The cores that the program used.
    pub cores_used: f64,
    /// What idle cores waited for.
    pub waits: Vec<(String, u64)>,
    /// Who took the cores.
    pub thieves: Vec<(String, u64)>,
}

impl Deref for BudgetSummary {
    type Target = Spent;

    fn deref(&self) -> &Spent {
        &self.spent
    }
}

/// One lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockSummary {
    /// Its name, or its address.
    pub name: String,
    /// Its address.
    pub address: String,
    /// What it is.
    pub kind: String,
    /// True when the verdict blames it.
    pub blamed: bool,
    /// Threads that waited: name, waits, time.
    pub waiters: Vec<(String, u64, u64)>,
    /// Threads they waited for: name, time.
    pub holders: Vec<(String, u64)>,
    /// All waits.
    pub waits: u64,
    /// Their time.
    pub wait_time: u64,
    /// What it costs.
    #[serde(flatten)]
    pub cost: Cost,
    /// Time of one hold.
    pub hold: Option<f64>,
    /// Its serial fraction.
    pub serial_fraction: Option<f64>,
    /// Factor of throughput without it: from, to.
    pub predicted_gain: Option<[f64; 2]>,
    /// The same with two such locks.
    pub predicted_gain_of_two: Option<[f64; 2]>,
    /// Where it is waited for.
    pub places: Vec<(String, u64)>,
}

impl Summary {
    /// Sums up a trace.
    pub fn new(trace: &Trace, analysis: &Analysis) -> Self {
        Self::with_verdict(trace, analysis, &verdict(trace, analysis))
    }

    /// Sums up a trace whose verdict is known.
    pub fn with_verdict(trace: &Trace, analysis: &Analysis, verdict: &Verdict) -> Self {
        let threads = &analysis.timeline.threads;
        Self {
            schema: SCHEMA.to_owned(),
            command: trace.header.command.clone(),
            environment: Machine {
                host: trace.header.host.clone(),
                kernel: trace.header.kernel.clone(),
                architecture: trace.header.architecture.clone(),
                cores: trace.header.cores.len(),
                recorder: trace.header.recorder.clone(),
            },
            verdict: verdict.sentences.clone(),
            enough_evidence: verdict.enough,
            events: trace.events.len() as u64,
            events_lost: trace.events_lost(),
            unexplained: verdict.unexplained,
            recorder_time: trace.trailer.recorder_time,
            budget: budget(analysis),
            serial_fraction: verdict.serial_fraction.map(|(fraction, _)| fraction),
            serial_fraction_range: verdict
                .serial_fraction
                .map(|(_, range)| [range.low, range.high]),
            speedup_ceiling: verdict.ceiling,
            locks: locks(analysis, verdict),
            critical_path: analysis
                .path
                .iter()
                .take(20)
                .map(|(link, time)| (words(*link, analysis), *time))
                .collect(),
            migrations: analysis
                .migrations
                .iter()
                .take(20)
                .map(|m| (threads.name(m.tid), m.moves))
                .collect(),
            interrupts: analysis
                .interrupts
                .iter()
                .map(|at| (at.cpu, at.what.to_string(), at.times.count, at.times.sum))
                .collect(),
            progress: progress(trace),
        }
    }
}

/// Events a second of each progress point, between its first and last reading.
pub fn progress(trace: &Trace) -> Vec<(String, f64)> {
    let mut ends: BTreeMap<u16, [(u64, u64); 2]> = BTreeMap::new();
    for event in &trace.events {
        if let Kind::Progress { point, total } = event.kind {
            let reading = (event.time, total);
            ends.entry(point).or_insert([reading; 2])[1] = reading;
        }
    }
    ends.into_iter()
        .filter_map(|(point, [first, last])| {
            let name = trace.trailer.progress.get(usize::from(point))?.clone();
            let seconds = (last.0 - first.0) as f64 / 1e9;
            (seconds > 0.0).then(|| (name, last.1.saturating_sub(first.1) as f64 / seconds))
        })
        .collect()
}

fn budget(analysis: &Analysis) -> BudgetSummary {
    let budget = &analysis.budget;
    BudgetSummary {
        spent: budget.spent.clone(),
        cores_used: budget.cores_used(),
        waits: budget
            .waits
            .iter()
            .map(|(reason, time)| (what(*reason, analysis), *time))
            .collect(),
        thieves: budget
            .thieves
            .iter()
            .map(|(name, taken, _)| (name.clone(), *taken))
            .collect(),
    }
}

fn locks(analysis: &Analysis, verdict: &Verdict) -> Vec<LockSummary> {
    let pair = |range: Range| [range.low, range.high];
    let name = |tid: u32| analysis.timeline.threads.name(tid);
    analysis
        .locks
        .iter()
        .enumerate()
        .map(|(index, lock)| LockSummary {
            name: if lock.named_by.is_some() {
                lock.name.clone()
            } else {
                title(lock)
            },
            address: format!("{:#x}", lock.address),
            kind: lock.class.name().to_owned(),
            blamed: verdict.blamed.contains(&index),
            waiters: lock
                .waited
                .waiters()
                .iter()
                .map(|(tid, waits)| (name(*tid), waits.count, waits.sum))
                .collect(),
            holders: lock
                .waited
                .holders()
                .iter()
                .map(|(tid, time)| (name(*tid), *time))
                .collect(),
            waits: lock.waited.waits.count,
            wait_time: lock.waited.waits.sum,
            cost: lock.cost,
            hold: lock.demand.map(|demand| demand.hold),
            serial_fraction: lock.demand.map(|demand| demand.serial),
            predicted_gain: lock.gain.map(|gain| pair(gain.removed)),
            predicted_gain_of_two: lock.gain.map(|gain| pair(gain.halved)),
            places: lock.places.clone(),
        })
        .collect()
}
