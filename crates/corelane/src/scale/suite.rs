//! The built-in workloads: listing them, running them by name, and the report of what they did then and do now.

use super::{deliver_document, request, workload::MARK};
use crate::common::{Outcome, ResultOptions};
use clap::Args;
use host::{environment::Environment, topology::Topology};
use report::{Block, Document, Progress, Table};
use scaling::{
    harness::{aggressor::Caches, order::order, plan::Mode, sweep::SweepError},
    measure::measure,
    result::{ScaleResult, sentence, show},
    workloads::{
        self, Kind, Loop, Prepared, Workload,
        bench::{Bench, Findings, Unable},
    },
};
use serde::Serialize;

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
}

/// All of them, as written to JSON.
#[derive(Serialize)]
struct SuiteResult {
    schema: &'static str,
    environment: Environment,
    workloads: Vec<WorkloadResult>,
}

/// The list, as text.
pub(crate) fn list() -> String {
    let mut table = Table::new("Built-in workloads")
        .text("name")
        .text("what it does");
    for workload in workloads::all() {
        table.push([workload.name, workload.sentence]);
    }
    table.to_text()
}

/// Runs the workloads named.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let chosen = choose(&arguments.names)?;
    let options = &arguments.results;
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), options.seed);
    let bench = bench(arguments)?;
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
        return Ok(workloads::all().iter().collect());
    }
    names
        .iter()
        .map(|name| {
            workloads::find(name)
                .ok_or_else(|| format!("no workload is called {name:?}; see `corelane scale list`"))
        })
        .collect()
}

fn bench(arguments: &Arguments) -> Result<Bench, Box<dyn std::error::Error + Send + Sync>> {
    let topology = Topology::read();
    Ok(Bench {
        cores: order(&topology, &host::cores::allowed_cores()?),
        caches: Caches::read(&topology),
        quick: arguments.results.quick,
        seed: arguments.results.seed,
        program: std::env::current_exe()?.display().to_string(),
        kernel: arguments.kernel,
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
    };
    let outcome = match &workload.kind {
        Kind::Experiment(experiment) => experiment(bench).map(|findings| {
            result.now.clone_from(&findings.sentence);
            result.findings = Some(findings);
        }),
        Kind::Loop(lap) => {
            sweep_loop(workload.name, lap, bench, options, environment).map(|sweeps| {
                result.now = (lap.now)(&sweeps);
                result.sweeps = sweeps;
            })
        }
        Kind::Program(prepare) => programs(prepare(bench), &mut result, options, environment),
    };
    match outcome {
        Ok(()) => Ok(result),
        Err(Unable::Interrupted) => Err(host::cleanup::Interrupted.into()),
        Err(unable) => {
            result.unable = Some(unable.to_string());
            Ok(result)
        }
    }
}

/// Sweeps the commands that are ready; what is not is a line beside them, and an error only when there is nothing else.
fn programs(
    commands: Vec<Result<Prepared, Unable>>,
    result: &mut WorkloadResult,
    options: &ResultOptions,
    environment: &Environment,
) -> Result<(), Unable> {
    let mut said = Vec::new();
    let mut last = None;
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
            Err(unable) => {
                said.push(sentence::finished(&format!("Not run: {unable}")));
                last = Some(unable);
            }
        }
    }
    result.now = said.join(" ");
    match last {
        Some(unable) if result.sweeps.is_empty() => Err(unable),
        _ => Ok(()),
    }
}

fn sweep_loop(
    name: &str,
    lap: &Loop,
    bench: &Bench,
    options: &ResultOptions,
    environment: &Environment,
) -> Result<Vec<(String, ScaleResult)>, Unable> {
    let milliseconds = if options.quick { "60" } else { "250" };
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
            milliseconds,
        ];
        let mut request = request(command.map(str::to_owned).to_vec(), options);
        request.mode = Some(Mode::Copies);
        request.progress = Some(MARK.to_owned());
        request.unit = Some(lap.unit.to_owned());
        request.rounds = Some(if options.quick { 5 } else { 9 });
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
    measure(&request, environment.clone()).map_err(|e| unable(&e))
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
    for result in results {
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
            let mut table = Table::new(result.name)
                .text("what")
                .text("then")
                .text("now");
            for line in &findings.lines {
                table.push([line.what.clone(), line.then.clone(), line.now.clone()]);
            }
            document = document.block(Block::Table(table));
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
    document.environment(environment.facts())
}
