//! The budget of a frame: what each step of its way through the router's program costs.
//!
//! A step's cost is a difference between two programs, each measured once in every round. Steps are
//! added one by one to a program that has none of them, and each is left out of the whole program.
//! The two differ where steps overlap: a processor that waits for one has done the next meanwhile.
//! This file names the programs and makes the table; it measures nothing.

use figures::Estimate;
use host::Environment;
use report::Table;
use report::units::grouped;
use serde::{Deserialize, Serialize};
use tester::sizes::Family;

/// Name and version of the JSON form.
pub const SCHEMA: &str = "corelane-budget/1";
/// No cost at all, in ns.
const NOTHING: f64 = 0.0;

/// A step that a program can do without, in the order in which they are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// What is counted for the port, the VLAN and the next hop.
    Counters,
    /// Whether somebody still vouches for the routes.
    Vouched,
    /// Whether the driver has taken a VLAN tag out.
    Tags,
    /// The checks of the IP header.
    Checks,
    /// Whether the transport checksum is unfinished.
    Sums,
    /// The longest-prefix match of the destination.
    Search,
    /// Whether the source may come by this port.
    Sources,
    /// From the number of a next hop to its entry.
    NextHop,
    /// One hop less and the new Ethernet header; never left out of the programs that steps are
    /// added to.
    Rewrite,
    /// Programs at tracepoints, which count what devices refuse; no part of the port's program.
    Refusals,
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 10] = [
        Self::Counters,
        Self::Vouched,
        Self::Tags,
        Self::Checks,
        Self::Sums,
        Self::Search,
        Self::Sources,
        Self::NextHop,
        Self::Rewrite,
        Self::Refusals,
    ];

    /// In a table.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Counters => "counters",
            Self::Vouched => "routes vouched for",
            Self::Tags => "VLAN tag, asked of the driver",
            Self::Checks => "header checks",
            Self::Sums => "unfinished checksum",
            Self::Search => "search",
            Self::Sources => "source validation",
            Self::NextHop => "next hop",
            Self::Rewrite => "rewrite",
            Self::Refusals => "refused frames, at tracepoints",
        }
    }

    /// What `bpf/ablation.c` calls a program without it; `None` for what is in no such program.
    pub const fn flag(self) -> Option<&'static str> {
        Some(match self {
            Self::Counters => "-DWITHOUT_COUNTERS",
            Self::Vouched => "-DWITHOUT_VOUCHED",
            Self::Tags => "-DWITHOUT_TAGS",
            Self::Checks => "-DWITHOUT_CHECKS",
            Self::Sums => "-DWITHOUT_SUMS",
            Self::Search => "-DWITHOUT_SEARCH",
            Self::Sources => "-DWITHOUT_SOURCES",
            Self::NextHop => "-DWITHOUT_NEXT_HOP",
            Self::Rewrite => "-DWITHOUT_REWRITE",
            Self::Refusals => return None,
        })
    }

    /// The steps of a family's frames: IPv6 has no source validation.
    fn of(family: Family) -> impl DoubleEndedIterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(move |step| family == Family::Ipv4 || *step != Self::Sources)
    }
}

/// What the device's port runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// The sink's program: a frame ends there.
    Dropped,
    /// A redirect to the other port, with constant addresses.
    Redirected,
    /// The router's without some steps; without none it is the one that ships.
    Without(Vec<Step>),
    /// The one that ships, compiled once more.
    Again,
    /// That of another object, by its file.
    Object(String),
}

impl Program {
    /// The programs that a family's budget is made of: each once, those to which steps are added
    /// first, in the order of the table.
    pub fn all(family: Family) -> Vec<Self> {
        let mut all = vec![Self::Dropped, Self::Redirected];
        let added = Self::added(family);
        all.extend((0..=added.len()).map(|first| Self::Without(added[first..].to_vec())));
        let alone = Step::of(family).map(|step| Self::Without(vec![step]));
        let alone = alone.filter(|program| !all.contains(program));
        let alone: Vec<_> = alone.collect();
        all.extend(alone);
        all.push(Self::Again);
        all
    }

    /// The steps that are added one by one.
    fn added(family: Family) -> Vec<Step> {
        let steps = Step::of(family);
        steps.filter(|step| *step != Step::Rewrite).collect()
    }

    /// Whether it does a step. The first two do none.
    pub fn does(&self, step: Step) -> bool {
        match self {
            Self::Dropped | Self::Redirected => false,
            Self::Without(steps) => !steps.contains(&step),
            Self::Again | Self::Object(_) => true,
        }
    }

    /// The flags by which `bpf/ablation.c` gives it; `None` for what is not compiled from there.
    pub fn flags(&self) -> Option<Vec<&'static str>> {
        match self {
            Self::Dropped | Self::Object(_) => None,
            Self::Redirected => Some(vec!["-DBARE"]),
            Self::Again => Some(Vec::new()),
            Self::Without(steps) => {
                let flags: Vec<_> = steps.iter().filter_map(|step| step.flag()).collect();
                (!flags.is_empty()).then_some(flags)
            }
        }
    }
}

/// What `make bench-budget` measured of a frame's way.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The machine and the run.
    pub environment: Environment,
    /// Bytes of a frame, FCS included.
    pub frame_bytes: u32,
    /// Length of a trial in seconds.
    pub seconds: f64,
    /// One for each kind of traffic.
    pub cases: Vec<Case>,
}

/// One kind of traffic.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Case {
    /// Of its frames.
    pub family: Family,
    /// How many destinations it has.
    pub destinations: usize,
    /// Every program of [`Program::all`], in that order, and other objects.
    pub programs: Vec<Measured>,
}

/// One program.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// What the port ran.
    pub program: Program,
    /// What a frame took, round by round, in ns; generator, cables and sink included.
    pub nanoseconds: Vec<f64>,
    /// Frames sent in all rounds.
    pub sent: u64,
    /// Frames that came to the sink.
    pub arrived: u64,
}

impl Budget {
    /// A table for each kind of traffic.
    pub fn tables(&self) -> Vec<Table> {
        let table = |case: &Case| case.table(self.frame_bytes, self.environment.seed);
        self.cases.iter().map(table).collect()
    }
}

impl Case {
    fn table(&self, frame_bytes: u32, seed: u64) -> Table {
        let rounds = self.programs.iter().map(|one| one.nanoseconds.len());
        let title = format!(
            "{}, {frame_bytes}-byte frames, destinations: {}, rounds: {}",
            self.family,
            grouped(self.destinations as u64),
            rounds.min().unwrap_or(0)
        );
        let shipped = Program::Without(Vec::new());
        let cost = |more: &Program, less: &Program| {
            let [more, less] = [more, less].map(|program| self.nanoseconds(program));
            Estimate::of(&figures::differences(more, less), seed)
        };
        let chance = cost(&Program::Again, &shipped);
        let told = |estimate: Estimate| {
            let differs =
                estimate.is_above(&chance, NOTHING) || estimate.is_below(&chance, NOTHING);
            let value = if differs {
                format!("{:.1}", estimate.value)
            } else {
                "–".to_owned()
            };
            format!("{value} ({:.1})", estimate.interval)
        };
        let all = |program: &Program| {
            let all = Estimate::of(self.nanoseconds(program), seed);
            format!("{:.1}", all.value)
        };
        let mut table = Table::new(title).text("step").numbers([
            "ns a frame up to here",
            "added here",
            "left out of the whole",
        ]);
        let none = String::new;
        let (dropped, redirected) = (Program::Dropped, Program::Redirected);
        let added = Program::added(self.family);
        let mut before = Program::Without(added.clone());
        table.push([
            "generator, first cable, sink".to_owned(),
            all(&dropped),
            none(),
            none(),
        ]);
        let rows = [
            ("redirect, its flush, second cable", &redirected, &dropped),
            (
                "entry, rewrite, what no row below names",
                &before,
                &redirected,
            ),
        ];
        for (words, with, without) in rows {
            table.push([
                words.to_owned(),
                all(with),
                told(cost(with, without)),
                none(),
            ]);
        }
        for step in Step::of(self.family) {
            let alone = told(cost(&shipped, &Program::Without(vec![step])));
            let Some(place) = added.iter().position(|one| *one == step) else {
                table.push([step.words().to_owned(), none(), none(), alone]);
                continue;
            };
            let now = Program::Without(added[place + 1..].to_vec());
            let added = told(cost(&now, &before));
            table.push([step.words().to_owned(), all(&now), added, alone]);
            before = now;
        }
        let again = format!("{:.1} ({:.1})", chance.value, chance.interval);
        let words = "the whole, compiled again".to_owned();
        table.push([words, all(&Program::Again), again, none()]);
        for one in &self.programs {
            if let Program::Object(file) = &one.program {
                let cost = told(cost(&one.program, &shipped));
                table.push([file.clone(), all(&one.program), cost, none()]);
            }
        }
        let [sent, arrived] = self.programs.iter().fold([0, 0], |[sent, arrived], one| {
            [sent + one.sent, arrived + one.arrived]
        });
        table.caption(format!(
            "Medians of differences within rounds, ns a frame, with their intervals. A dash: the \
             interval reaches 0 or that of the whole compiled again, which is chance. \
             Of {} frames sent {} arrived.",
            grouped(sent),
            grouped(arrived)
        ))
    }

    /// Those of a program; none when it was not measured.
    fn nanoseconds(&self, program: &Program) -> &[f64] {
        let found = self.programs.iter().find(|one| one.program == *program);
        found.map_or(&[], |one| &one.nanoseconds)
    }
}

#[cfg(test)]
#[path = "../tests/unit/budget.rs"]
mod tests;
