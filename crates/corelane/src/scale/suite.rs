//! The built-in workloads: listing them, running them by name, and the report of what they did then
//! and do now.

use std::time::{Duration, Instant};

use clap::Args;
use host::environment::Environment;
use host::pressure::Caches;
use host::topology::Topology;
use report::{Block, Document, Progress, Table};
use scaling::harness::notes::Note;
use scaling::harness::order::order;
use scaling::harness::plan::Mode;
use scaling::harness::sweep::SweepError;
use scaling::measure::measure;
use scaling::result::{ScaleResult, sentence, show};
use scaling::workloads::bench::{Bench, Unable};
use scaling::workloads::findings::Findings;
use scaling::workloads::{self, Kind, Loop, Prepared, Workload, plan};
use serde::Serialize;

use super::forward;
use super::workload::MARK;
use super::{deliver_document, request};
use crate::common::{Outcome, ResultOptions};

/// Which workloads, and how.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Names from `corelane scale list`, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Compile a Linux kernel too (needs Debian's `linux-source`)
    #[arg(long)]
    kernel: bool,
    #[command(flatten)]
    results: ResultOptions,
}

/// One workload's result.
#[derive(Serialize)]
struct WorkloadResult {
    name: &'static str,
    sentence: &'static str,
    then: &'static str,
    now: String,
    findings: Option<Findings>,
    sweeps: Vec<(String, ScaleResult)>,
    unable: Option<String>,
    /// How long it took, and at most should have taken.
    seconds: f64,
    planned_seconds: f64,
}

/// All of them, as written to JSON.
#[derive(Serialize)]
struct SuiteResult {
    schema: &'static str,
    environment: Environment,
    workloads: Vec<WorkloadResult>,
}

/// The workloads of the crate `scaling`, and our own engine's.
fn workloads() -> impl Iterator<Item = &'static Workload> {
    workloads::all().iter().chain([&forward::WORKLOAD])
}

/// The list, as text, with the time that each takes here.
pub(crate) fn list() -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let bench = bench(false, 0, false)?;
    let mut table = Table::new("Built-in workloads")
        .text("name")
        .number("at most")
        .text("what it does");
    let mut all = Duration::ZERO;
    for workload in workloads() {
        let time = plan::planned(workload, &bench);
        all += time;
        table.push([
            workload.name.to_owned(),
            words(time),
            workload.sentence.to_owned(),
        ]);
    }
    table.push([
        "all".to_owned(),
        words(all),
        "All of them, unattended.".to_owned(),
    ]);
    Ok(table.to_text())
}

/// A time of the size of a workload's.
fn words(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil();
    if seconds < 100.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}

/// Runs the workloads named.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let chosen = choose(&arguments.names)?;
    let options = &arguments.results;
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), options.seed);
    let bench = bench(options.quick, options.seed, arguments.kernel)?;
    let mut progress = Progress::new(chosen.len());
    let mut results = Vec::new();
    for workload in chosen {
        host::cleanup::check()?;
        progress.step(workload.name);
        results.push(one(workload, &bench, options, &environment)?);
    }
    drop(progress);
    let document = document(&results, &environment);
    let raw = SuiteResult {
        schema: "corelane-scale-suite/1",
        environment,
        workloads: results,
    };
    deliver_document(&document, &raw, options)
}

fn choose(names: &[String]) -> Result<Vec<&'static Workload>, String> {
    if names.iter().any(|name| name == "all") {
        return Ok(workloads().collect());
    }
    names
        .iter()
        .map(|name| {
            workloads()
                .find(|workload| workload.name == name)
                .ok_or_else(|| format!("no workload is called {name:?}; see `corelane scale list`"))
        })
        .collect()
}

fn bench(
    quick: bool,
    seed: u64,
    kernel: bool,
) -> Result<Bench, Box<dyn std::error::Error + Send + Sync>> {
    let topology = Topology::read();
    Ok(Bench {
        cores: order(&topology, &host::cores::allowed_cores()?),
        caches: Caches::read(&topology),
        quick,
        seed,
        program: std::env::current_exe()?.display().to_string(),
        kernel,
        interrupted: host::cleanup::interrupted,
    })
}

/// Runs one workload. What cannot run here says so in its result, and the suite goes on.
fn one(
    workload: &'static Workload,
    bench: &Bench,
    options: &ResultOptions,
    environment: &Environment,
) -> Result<WorkloadResult, Box<dyn std::error::Error + Send + Sync>> {
    let mut result = WorkloadResult {
        name: workload.name,
        sentence: workload.sentence,
        then: workload.then,
        now: String::new(),
        findings: None,
        sweeps: Vec::new(),
        unable: None,
        seconds: 0.0,
        planned_seconds: plan::planned(workload, bench).as_secs_f64(),
    };
    let start = Instant::now();
    let outcome = match &workload.kind {
        Kind::Experiment { run, .. } => run(bench).map(|findings| {
            result.now.clone_from(&findings.sentence);
            result.findings = Some(findings);
        }),
        Kind::Loop(lap) => {
            sweep_loop(workload.name, lap, bench, options, environment).map(|sweeps| {
                result.now = (lap.now)(&sweeps);
                result.sweeps = sweeps;
            })
        }
        Kind::Program { prepare, .. } => {
            programs(prepare(bench), &mut result, options, environment)
        }
    };
    result.seconds = start.elapsed().as_secs_f64();
    match outcome {
        Ok(()) => Ok(result),
        Err(Unable::Interrupted) => Err(host::cleanup::Interrupted.into()),
        Err(unable) => {
            result.unable = Some(unable.to_string());
            Ok(result)
        }
    }
}

/// Sweeps the commands that are ready; what is not is a line beside them, and an error only when
/// there is nothing else.
fn programs(
    commands: Vec<Result<Prepared, Unable>>,
    result: &mut WorkloadResult,
    options: &ResultOptions,
    environment: &Environment,
) -> Result<(), Unable> {
    let mut said = Vec::new();
    let mut lacks: Vec<String> = Vec::new();
    for command in commands {
        let swept = command.and_then(|command| {
            let found = sweep_program(&command, options, environment)?;
            Ok((command.label, found))
        });
        match swept {
            Ok((label, found)) => {
                said.push(format!("{label}: {}", found.sentence));
                result.sweeps.push((label, found));
            }
            Err(Unable::Interrupted) => return Err(Unable::Interrupted),
            // Two sizes of one program lack the same.
            Err(unable) if lacks.contains(&unable.to_string()) => {}
            Err(unable) => {
                said.push(sentence::finished(&format!("Not run: {unable}")));
                lacks.push(unable.to_string());
            }
        }
    }
    result.now = said.join(" ");
    if result.sweeps.is_empty() {
        return Err(Unable::Failed(lacks.join("; ")));
    }
    Ok(())
}

fn sweep_loop(
    name: &str,
    lap: &Loop,
    bench: &Bench,
    options: &ResultOptions,
    environment: &Environment,
) -> Result<Vec<(String, ScaleResult)>, Unable> {
    let milliseconds = plan::lap(options.quick).as_millis().to_string();
    let mut sweeps = Vec::new();
    for (label, variant) in (lap.variants)(&bench.caches) {
        let command = [
            &bench.program,
            "scale",
            "work",
            name,
            "--variant",
            &variant.to_string(),
            "--milliseconds",
            &milliseconds,
        ];
        let mut request = request(command.map(str::to_owned).to_vec(), options);
        request.mode = Some(Mode::Copies);
        request.progress = Some(MARK.to_owned());
        request.unit = Some(lap.unit.to_owned());
        request.rounds = Some(plan::rounds(options.quick));
        let mut result = measure(&request, environment.clone()).map_err(|e| unable(&e))?;
        // The command is this program itself; what the reader wants to see is the workload.
        result.command = vec![name.to_owned(), label.clone()];
        sweeps.push((label, result));
    }
    Ok(sweeps)
}

fn sweep_program(
    prepared: &Prepared,
    options: &ResultOptions,
    environment: &Environment,
) -> Result<ScaleResult, Unable> {
    let mut request = request(prepared.command.clone(), options);
    request.mode = Some(prepared.mode);
    request.prepare.clone_from(&prepared.prepare);
    request.rounds = prepared.rounds;
    let mut result = measure(&request, environment.clone()).map_err(|e| unable(&e))?;
    if let Some(text) = prepared.note.clone() {
        result.notes.push(Note::Other { text });
    }
    Ok(result)
}

fn unable(error: &SweepError) -> Unable {
    if host::cleanup::interrupted() {
        Unable::Interrupted
    } else {
        Unable::Failed(error.to_string())
    }
}

fn document(results: &[WorkloadResult], environment: &Environment) -> Document {
    let mut document = Document::new("What another core buys: the built-in workloads");
    let sum = |seconds: fn(&WorkloadResult) -> f64| {
        words(Duration::from_secs_f64(results.iter().map(seconds).sum()))
    };
    let took = format!(
        "took {}; planned were at most {}.",
        sum(|result| result.seconds),
        sum(|result| result.planned_seconds)
    );
    // Of a single workload the section says it all.
    let several = results.len() > 1;
    if several {
        document = document.verdict(format!("{} workloads {took}", results.len()));
    }
    for result in results.iter().filter(|_| several) {
        let words = result
            .unable
            .as_ref()
            .map_or_else(|| result.now.clone(), |unable| format!("not run: {unable}"));
        document = document.verdict(format!("{}: {words}", result.name));
    }
    for result in results {
        document = document.heading(result.name).text(result.sentence);
        if !result.then.is_empty() {
            document = document.text(format!("Then: {}.", result.then));
        }
        if let Some(unable) = &result.unable {
            document = document.text(format!("Not run: {unable}."));
            continue;
        }
        if !result.now.is_empty() {
            document = document.text(format!("Now: {}", sentence::finished(&result.now)));
        }
        if let Some(findings) = &result.findings {
            document.blocks.extend(findings.blocks());
            for note in &findings.notes {
                document = document.text(format!("Note: {note}"));
            }
        }
        for (label, sweep) in &result.sweeps {
            let mut table = show::points_table(sweep);
            table.title.clone_from(label);
            document = document.block(Block::Table(table));
            for note in &sweep.notes {
                document = document.text(format!("Note: {note}"));
            }
        }
    }
    if !several {
        document = document.text(format!("It {took}"));
    }
    document.environment(environment.facts())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_engine_is_a_workload_by_a_name_of_its_own() {
        let named = |name: &str| workloads().filter(|one| one.name == name).count();
        assert!(workloads().all(|one| named(one.name) == 1 && one.sentence.ends_with('.')));
        assert_eq!(
            choose(&["forward".to_owned()]).map(|found| found.len()),
            Ok(1)
        );
    }
}
