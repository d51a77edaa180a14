//! Built-in workloads run one after the other, and the report of what they did then and do now.

use std::time::Instant;

use host::cleanup::Interrupted;
use host::environment::Environment;
use report::{Block, Document, Progress};
use serde::{Deserialize, Serialize};

use crate::harness::notes::Note;
use crate::measure::measure;
use crate::result::{ScaleResult, sentence, show};
use crate::workloads::bench::{Bench, Unable};
use crate::workloads::findings::Findings;
use crate::workloads::list::words;
use crate::workloads::{Kind, Prepared, Workload, plan};

/// The name of this format.
pub const SCHEMA: &str = "corelane-scale-suite/1";

/// One workload's result.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadResult {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub sentence: String,
    /// What the article's author saw.
    pub then: String,
    /// What this machine does.
    pub now: String,
    /// The figures of an experiment.
    pub findings: Option<Findings>,
    /// The sweeps of a loop or of commands, by label.
    pub sweeps: Vec<(String, ScaleResult)>,
    /// Why it did not run here.
    pub unable: Option<String>,
    /// How long it took.
    pub seconds: f64,
    /// How long it should have taken at most.
    pub planned_seconds: f64,
}

/// What `corelane scale workload` measured.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteResult {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The machine and the run.
    pub environment: Environment,
    /// In the order in which they ran.
    pub workloads: Vec<WorkloadResult>,
}

/// Runs the workloads. What cannot run here says so in its result, and the suite goes on.
///
/// # Errors
/// When interrupted.
pub fn run(
    workloads: &[&'static Workload],
    bench: &Bench,
    environment: Environment,
) -> Result<SuiteResult, Interrupted> {
    let mut progress = Progress::new(workloads.len());
    let mut results = Vec::new();
    for workload in workloads {
        host::cleanup::check()?;
        progress.step(workload.name);
        results.push(WorkloadResult::of(workload, bench, &environment)?);
    }
    Ok(SuiteResult {
        schema: SCHEMA.to_owned(),
        environment,
        workloads: results,
    })
}

impl WorkloadResult {
    fn of(
        workload: &'static Workload,
        bench: &Bench,
        environment: &Environment,
    ) -> Result<Self, Interrupted> {
        let mut result = Self {
            name: workload.name.to_owned(),
            sentence: workload.sentence.to_owned(),
            then: workload.then.to_owned(),
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
                result.sweep(lap.prepare(workload.name, bench), environment, lap.now)
            }
            Kind::Program { prepare, .. } => result.sweep(prepare(bench), environment, sentences),
        };
        result.seconds = start.elapsed().as_secs_f64();
        match outcome {
            Err(Unable::Interrupted) => return Err(Interrupted),
            Err(unable) => result.unable = Some(unable.to_string()),
            Ok(()) => {}
        }
        Ok(result)
    }

    /// Sweeps the commands that are ready and puts them in words by `now`; what is not ready is a
    /// sentence after these, and an error only when there is nothing else.
    fn sweep(
        &mut self,
        commands: Vec<Result<Prepared, Unable>>,
        environment: &Environment,
        now: fn(&[(String, ScaleResult)]) -> String,
    ) -> Result<(), Unable> {
        let mut lacks: Vec<String> = Vec::new();
        for command in commands {
            match command.and_then(|command| swept(command, environment)) {
                Ok(found) => self.sweeps.push(found),
                Err(Unable::Interrupted) => return Err(Unable::Interrupted),
                Err(unable) => lacks.push(unable.to_string()),
            }
        }
        lacks.dedup(); // two sizes of one program lack the same
        if self.sweeps.is_empty() {
            return Err(Unable::Failed(lacks.join("; ")));
        }
        self.now = now(&self.sweeps);
        for lack in lacks {
            let words = format!("{} Not run: {lack}", sentence::finished(&self.now));
            self.now = sentence::finished(&words);
        }
        Ok(())
    }

    /// Why it did not run, or else what it does now.
    fn outcome(&self) -> String {
        let unable = self.unable.as_ref();
        unable.map_or_else(|| self.now.clone(), |unable| format!("not run: {unable}"))
    }

    /// Adds a section to `document`.
    fn section(&self, mut document: Document) -> Document {
        document = document.heading(&self.name).text(&self.sentence);
        if !self.then.is_empty() {
            document = document.text(format!("Then: {}.", self.then));
        }
        if let Some(unable) = &self.unable {
            return document.text(format!("Not run: {unable}."));
        }
        if !self.now.is_empty() {
            document = document.text(format!("Now: {}", sentence::finished(&self.now)));
        }
        if let Some(findings) = &self.findings {
            document.blocks.extend(findings.blocks());
            for note in &findings.notes {
                document = document.text(format!("Note: {note}"));
            }
        }
        for (label, sweep) in &self.sweeps {
            let mut table = show::points_table(sweep);
            table.title.clone_from(label);
            document = document.block(Block::Table(table));
            for note in &sweep.notes {
                document = document.text(format!("Note: {note}"));
            }
        }
        document
    }
}

/// The sweeps of commands in their own sentences.
fn sentences(sweeps: &[(String, ScaleResult)]) -> String {
    let words = sweeps
        .iter()
        .map(|(label, found)| format!("{label}: {}", found.sentence));
    words.collect::<Vec<_>>().join(" ")
}

fn swept(command: Prepared, environment: &Environment) -> Result<(String, ScaleResult), Unable> {
    let measured = measure(&command.request, environment.clone());
    let mut found = measured.map_err(|error| {
        if host::interrupted() {
            Unable::Interrupted
        } else {
            Unable::Failed(error.to_string())
        }
    })?;
    // A command that is this program itself is shown as the workload that it is.
    found.command = command.shown.unwrap_or(found.command);
    let note = command.note.map(|text| Note::Other { text });
    found.notes.extend(note);
    Ok((command.label, found))
}

impl SuiteResult {
    /// Draws the result.
    pub fn document(&self) -> Document {
        let mut document = Document::new("What another core buys: the built-in workloads");
        let sum =
            |seconds: fn(&WorkloadResult) -> f64| words(self.workloads.iter().map(seconds).sum());
        let took = format!(
            "took {}; planned were at most {}.",
            sum(|result| result.seconds),
            sum(|result| result.planned_seconds)
        );
        // Of a single workload the section says it all.
        let several = self.workloads.len() > 1;
        if several {
            document = document.verdict(format!("{} workloads {took}", self.workloads.len()));
        }
        for result in self.workloads.iter().filter(|_| several) {
            document = document.verdict(format!("{}: {}", result.name, result.outcome()));
        }
        for result in &self.workloads {
            document = result.section(document);
        }
        if !several {
            document = document.text(format!("It {took}"));
        }
        document.environment(self.environment.facts())
    }
}
