//! A comparison as a document.

use report::{Block, Document, Table, capital};

use super::AbResult;
use super::judge::Verdict;
use crate::harness::profile::Profile;
use crate::result::sentence::finished;

/// Draws a result.
pub fn document(result: &AbResult) -> Document {
    let mut document = Document::new("A against B").verdict(sentence(result));
    if let Some(next) = next(result) {
        document = document.verdict(next);
    }
    document = document.block(Block::Table(figures(result)));
    if let Some(profiles) = &result.profiles {
        document = document.block(Block::Table(times(profiles)));
        for (name, profile) in ["A", "B"].iter().zip(profiles) {
            let words = profile.sentences.join(" ");
            document = document.text(finished(&format!("The profiler on {name}: {words}")));
        }
    }
    for note in &result.notes {
        document = document.text(finished(&capital(note)));
    }
    let name = |side: usize| result.commands[side].join(" ");
    let mut facts = vec![("A".to_owned(), name(0)), ("B".to_owned(), name(1))];
    facts.extend(result.environment.facts());
    document.environment(facts)
}

/// The verdict with its figures.
pub fn sentence(result: &AbResult) -> String {
    let range = format!("{:.3} {:#.3}", result.ratio, result.interval);
    let times = format!("it takes {range} times as long");
    let worth = result.worth * 100.0;
    match result.verdict {
        Verdict::Faster => format!("B is faster than A: {times}."),
        Verdict::Slower => format!("B is slower than A: {times}."),
        Verdict::NotSlower => {
            format!("B is not slower than A by {worth} % or more: {times}.")
        }
        Verdict::CannotTell => {
            format!("It cannot be told whether B is slower than A by {worth} % or more: {times}.")
        }
    }
}

fn next(result: &AbResult) -> Option<String> {
    let words = match result.verdict {
        Verdict::CannotTell => {
            "Next: give it more time with `--seconds`, a quieter machine, or a larger `--worth`."
        }
        Verdict::Slower if result.profiles.is_none() => {
            "Next: add `--cause` (as root): the profiler records a run of each."
        }
        _ => return None,
    };
    Some(words.to_owned())
}

fn figures(result: &AbResult) -> Table {
    let mut table = Table::new("What the runs used")
        .text("of a run")
        .numbers(["A", "B", "B over A"])
        .text("differs");
    for figure in &result.figures {
        let over = if figure.a > 0.0 {
            format!("{:.3}", figure.b / figure.a)
        } else {
            "–".to_owned()
        };
        table.push([
            figure.name.clone(),
            number(figure.a),
            number(figure.b),
            over,
            if figure.differs { "yes" } else { "–" }.to_owned(),
        ]);
    }
    table.caption(format!(
        "Medians of {} runs of each, in blocks ABBA and BAAB. Differs: by more than chance, all \
         lines considered together (Holm, 5 %).",
        2 * result.blocks.len()
    ))
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.6}")
    }
}

/// Where the cores' time went in the recorded runs.
fn times(profiles: &[Profile; 2]) -> Table {
    let mut reasons: Vec<&str> = vec!["the program ran"];
    for (reason, _) in profiles.iter().flat_map(|p| &p.budget.lost) {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    let of = |profile: &Profile, reason: &str| {
        let lost = profile.budget.lost.iter().find(|(name, _)| name == reason);
        lost.map_or(0.0, |(_, seconds)| *seconds)
    };
    let mut table = Table::new("Where the cores' time went")
        .text("what")
        .numbers(["A, s", "B, s"]);
    for (place, reason) in reasons.into_iter().enumerate() {
        let seconds = profiles.each_ref().map(|profile| {
            let value = if place == 0 {
                profile.budget.program
            } else {
                of(profile, reason)
            };
            format!("{value:.4}")
        });
        let [a, b] = seconds;
        table.push([reason.to_owned(), a, b]);
    }
    table.caption("One recorded run of each, over all cores: a hint, without interval.")
}
