//! `make -j n` with fewer jobs than cores, as many, and more.

use std::time::Duration;

use figures::{Rounds, median};

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::{Kind, Prepared, Workload, compile};
use crate::harness::keeper::Outcome;
use crate::harness::plan::{Job, Mode, Placement};
use crate::harness::runs::Runs;

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "jobs",
    sentence: "Compiles generated C files on all cores with make -j 1, 2, as many as \
               cores, one more, twice and four times as many.",
    then: "\"replace n by 2, 3 ...\": with -j 2 on two Pentium Pros 22 % less time, 148 % CPU",
    kind: Kind::Experiment { run, planned },
};

fn rounds(bench: &Bench) -> usize {
    if bench.quick { 3 } else { 5 }
}

/// Every count is built in every round, and once before.
fn planned(bench: &Bench) -> Duration {
    let builds = counts(bench.cores.len() as u32).len() * (rounds(bench) + 1);
    compile::one_core(bench) * builds as u32
}

/// The numbers of jobs for so many cores.
fn counts(cores: u32) -> Vec<u32> {
    let mut counts = vec![1, 2, cores, cores + 1, 2 * cores, 4 * cores];
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let Prepared {
        request,
        keep: _tree,
        ..
    } = compile::generated(bench)?;
    let job = Job {
        command: request.command,
        mode: Mode::Make,
        order: bench.cores.clone(),
        timeout: request.timeout,
        progress: None,
        prepare: request.prepare,
        seed: bench.seed,
        interrupted: bench.interrupted,
    };
    let counts = counts(bench.cores.len() as u32);
    let failed = Unable::failed("make");
    let runs = counts
        .iter()
        .map(|&jobs| Runs::start(&job, Placement::Free.on(jobs)));
    let mut runs: Vec<Runs> = runs.collect::<Result<_, _>>().map_err(&failed)?;
    let mut built = Rounds::new(counts.len(), bench.seed);
    // The first round finds the compiler on the disk and is not counted.
    for runs in &mut runs {
        runs.run().map_err(&failed)?;
    }
    built.run(rounds(bench), |place| {
        bench.go_on()?;
        runs[place].run().map_err(&failed)
    })?;
    Ok(told(&counts, bench.cores.len(), &built))
}

fn wall(outcome: &Outcome) -> f64 {
    outcome.wall.as_secs_f64()
}

fn told(counts: &[u32], cores: usize, built: &Rounds<Outcome>) -> Findings {
    let mut findings = Findings::of(&["time", "times the time of -j 1", "cores used"]);
    let mut medians = Vec::new();
    for (place, jobs) in counts.iter().enumerate() {
        let time = median(built.values(place, wall));
        let ratio = built.ratio(place, 0, wall);
        let used = built.values(place, |outcome| {
            (outcome.user + outcome.system).as_secs_f64() / wall(outcome)
        });
        medians.push(time);
        findings.line(
            format!("make -j {jobs}"),
            if *jobs == 2 { "0.78, 148 % CPU" } else { "" },
            [
                format!("{time:.2} s"),
                format!("{:.2} {:#.2}", ratio.value, ratio.interval),
                format!("{:.2}", median(used)),
            ],
        );
    }
    let as_many = counts.iter().position(|&jobs| jobs as usize == cores);
    let most = (counts.len() - 1, counts[counts.len() - 1]);
    if let Some(as_many) = as_many {
        let more = built.ratio(most.0, as_many, wall);
        findings.sentence = format!(
            "With as many jobs as cores ({cores}) it takes {:.2} s, with one {:.2} s; {} jobs \
             take {:.2} {:#.2} times as long as {cores}.",
            medians[as_many], medians[0], most.1, more.value, more.interval
        );
    }
    findings
}

#[cfg(test)]
#[path = "../../tests/unit/jobs.rs"]
mod tests;
