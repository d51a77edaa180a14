//! One program asked many times, and what the answers come to.

use std::ffi::OsString;
use std::process::{Child, Command};
use std::time::Duration;

use tracer::analyse::Analysis;
use tracer::record::{Options, Recording, Target};
use tracer::verdict::verdict;

use super::programs::{Kind, Program};
use super::{Answer, BE};

/// A program and its answers.
pub(crate) struct Row {
    pub(crate) program: Program,
    pub(crate) answers: Vec<Answer>,
    pub(crate) took: Duration,
}

/// Somebody else, who takes the first core by turns. It goes with the question.
struct Thief(Option<Child>);

impl Thief {
    fn of(kind: Kind) -> Self {
        let script = "while :; do i=0; while [ $i -lt 4000 ]; do i=$((i+1)); done; \
                      sleep 0.01; done";
        let wanted = kind == Kind::Preempted;
        let thief = || {
            Command::new("taskset")
                .args(["-c", "0", "sh", "-c", script])
                .spawn()
        };
        Self(wanted.then(thief).and_then(Result::ok))
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        if let Some(mut thief) = self.0.take() {
            let _ = thief.kill();
            let _ = thief.wait();
        }
    }
}

/// Runs the program once under the recorder.
pub(crate) fn ask(program: &Program) -> Result<Answer, Box<dyn std::error::Error>> {
    let _thief = Thief::of(program.kind);
    let mut words: Vec<OsString> = vec![std::env::current_exe()?.into(), BE.into()];
    words.push(program.kind.name().into());
    for number in [
        program.percent,
        program.threads as u64,
        program.operation,
        program.duration.as_millis() as u64,
    ] {
        words.push(number.to_string().into());
    }
    let told = tempfile::NamedTempFile::new()?;
    words.push(told.path().into());
    let mut recording = Recording::start(&Options {
        target: Target::Command(words),
        ..Options::default()
    })?;
    while !recording.ended() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let truth = std::fs::read_to_string(told.path())?.parse()?;
    let trace = recording.stop()?.into_trace()?;
    let analysis = Analysis::new(&trace);
    let found = verdict(&trace, &analysis);
    let blamed: Vec<&str> = found
        .blamed
        .iter()
        .map(|index| {
            analysis.locks[*index]
                .name
                .rsplit("::")
                .next()
                .unwrap_or("")
        })
        .collect();
    let guilty = program.kind.guilty();
    let line = &analysis.timeline;
    let stolen = |core: &u16| line.stolen(*core, line.start, line.end);
    let (low, high) = found
        .serial_fraction
        .map_or((f64::NAN, f64::NAN), |(_, range)| (range.low, range.high));
    Ok(Answer {
        truth,
        low,
        high,
        untold: found.serial_untold,
        right: guilty.is_some_and(|name| blamed.contains(&name)),
        innocent: blamed.iter().any(|name| Some(*name) != guilty),
        stolen: line.cores.iter().map(stolen).sum(),
        sentences: found.sentences,
    })
}

/// The table's head.
pub(crate) fn head() {
    println!(
        "{:<10} {:>7} {:>5} {:>6} {:>6}  {:<13} {:>6} {:>6} {:>7} {:>8} {:>7}",
        "program",
        "threads",
        "µs",
        "asked",
        "truth",
        "found",
        "told",
        "held",
        "blamed",
        "innocent",
        "took"
    );
}

impl Answer {
    /// Whether the interval, as it is printed, holds what the program measured of itself.
    fn holds(&self) -> bool {
        const PRINTED: f64 = 0.005;
        self.untold.is_none()
            && self.low - PRINTED <= self.truth
            && self.truth <= self.high + PRINTED
    }
}

impl Row {
    pub(crate) fn new(program: Program) -> Self {
        Self {
            program,
            answers: Vec::new(),
            took: Duration::ZERO,
        }
    }

    fn asked(&self) -> f64 {
        self.program.percent as f64 / 100.0
    }

    fn count(&self, of: impl Fn(&Answer) -> bool) -> usize {
        self.answers.iter().filter(|answer| of(answer)).count()
    }

    /// Answers whose interval, as it is printed, holds what the program measured of itself.
    fn held(&self) -> usize {
        self.count(Answer::holds)
    }

    fn told(&self) -> usize {
        self.count(|answer| answer.untold.is_none())
    }

    /// One line of the table.
    pub(crate) fn print(&self) {
        let median = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied()
        };
        let told = |of: fn(&Answer) -> f64| {
            median(
                self.answers
                    .iter()
                    .filter(|a| a.untold.is_none())
                    .map(of)
                    .collect(),
            )
        };
        let truth = median(self.answers.iter().map(|a| a.truth).collect());
        let found = match (told(|a| a.low), told(|a| a.high)) {
            (Some(low), Some(high)) => format!("{low:.2} to {high:.2}"),
            _ => "–".to_owned(),
        };
        let program = &self.program;
        println!(
            "{:<10} {:>7} {:>5} {:>6.2} {:>6.2}  {found:<13} {:>6} {:>6} {:>7} {:>8} {:>5.1} s",
            program.kind.name(),
            program.threads,
            program.operation,
            self.asked(),
            truth.unwrap_or(f64::NAN),
            self.told(),
            self.held(),
            self.count(|answer| answer.right),
            self.count(|answer| answer.innocent),
            self.took.as_secs_f64(),
        );
        let why = self.answers.iter().find_map(|a| a.untold.as_ref());
        if let Some(why) = why.filter(|_| self.told() == 0) {
            println!("    – {why}");
        }
        let missed = |answer: &&Answer| answer.untold.is_none() && !answer.holds();
        for Answer {
            truth,
            low,
            high,
            stolen,
            ..
        } in self.answers.iter().filter(missed)
        {
            println!(
                "    missed: {low:.3} to {high:.3} is not {truth:.3}; the host took {} ms",
                stolen / 1_000_000
            );
        }
        if std::env::var_os("PROVE_SENTENCES").is_some()
            && let Some(last) = self.answers.last()
        {
            for sentence in &last.sentences {
                println!("    {sentence}");
            }
        }
    }
}

/// The last lines: how often the printed intervals held, how often an innocent lock was blamed.
pub(crate) fn sum(rows: &[Row]) -> bool {
    /// What the intervals say of themselves.
    const HOLD: f64 = 0.95;
    let all = |of: fn(&Row) -> usize| rows.iter().map(of).sum::<usize>();
    let (told, held) = (all(Row::told), all(Row::held));
    let innocent = all(|row| row.count(|answer| answer.innocent));
    // So many may miss by chance, in 39 of 40 proofs and more.
    let chance = 1.0 + 2.0 * (told as f64 * HOLD * (1.0 - HOLD)).sqrt();
    let took: Duration = rows.iter().map(|row| row.took).sum();
    println!(
        "{held} of {told} intervals hold the truth; an innocent lock was blamed {innocent} times. \
         It took {:.0} s.",
        took.as_secs_f64()
    );
    held as f64 >= HOLD * told as f64 - chance && innocent == 0
}
