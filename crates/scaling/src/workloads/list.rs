//! The list of workloads, with the time that each takes.

use report::Table;
use serde::Serialize;

use super::bench::Bench;
use super::{Workload, plan};

/// The name of this format.
pub const SCHEMA: &str = "corelane-scale-list/1";

/// A workload of the list.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listed {
    /// What it is called.
    pub name: &'static str,
    /// What it does.
    pub sentence: &'static str,
    /// How long it takes here at most.
    pub planned_seconds: f64,
}

/// What `corelane scale list` says: the workloads that are built in.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct List {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// In the order in which `all` runs them.
    pub workloads: Vec<Listed>,
}

impl List {
    /// The list of `workloads`, with the time that each takes on `bench`.
    pub fn of(workloads: &[&Workload], bench: &Bench) -> Self {
        let listed = |workload: &&Workload| Listed {
            name: workload.name,
            sentence: workload.sentence,
            planned_seconds: plan::planned(workload, bench).as_secs_f64(),
        };
        Self {
            schema: SCHEMA,
            workloads: workloads.iter().map(listed).collect(),
        }
    }

    /// The list for reading.
    pub fn table(&self) -> Table {
        let mut table = Table::new("Built-in workloads")
            .text("name")
            .number("at most")
            .text("what it does");
        for one in &self.workloads {
            table.push([one.name, &words(one.planned_seconds), one.sentence]);
        }
        let all: f64 = self.workloads.iter().map(|one| one.planned_seconds).sum();
        table.row(["all", &words(all), "All of them, unattended."])
    }
}

/// A time of the size of a workload's.
pub(crate) fn words(seconds: f64) -> String {
    let seconds = seconds.ceil();
    if seconds < 100.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}
