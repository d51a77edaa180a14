//! A device on some of the machine's cores: the searches of several rounds made one row, and what
//! more cores bring.
//!
//! Each core in use makes, forwards and counts its own frames. So the generator's part is in every
//! rate, on one core as on all, and rates can be compared: a generator on a core of its own would
//! be missing from one side only, and where all cores forward there is none left for it. What the
//! generators do without a device stands beside each rate.
//!
//! A search is one round's figure. A row has their median, where the rounds are evidence for one
//! ([`figures::judge`]); a speed-up is the median of the rounds' own ratios, against the mean of
//! the cores, each alone in the same round.

use figures::{Estimate, Judged, Weak, judge};
use report::units::FramesPerSecond;
use serde::{Deserialize, Serialize};

use crate::honest::{self, Grade};
use crate::result::{Details, Entry, Report, Test};
use crate::search::Limit;
use crate::trial::mostly_disturbed;

/// What the searches of all rounds on some cores found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByCores {
    /// The cores that made, forwarded and counted the frames.
    pub cores: Vec<u32>,
    /// Round by round.
    pub rounds: Vec<Round>,
    /// Interval of the median of the rounds that count, frames/s; absent where there is no median.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// Why the rounds are no evidence; absent where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weak: Option<Weak>,
}

/// What one search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Round {
    /// The highest rate without loss, frames/s.
    pub frames_per_second: Option<f64>,
    /// The smallest rate that failed, frames/s.
    pub fails_at: Option<f64>,
    /// "device", "tester" or "range": what holds the answer down.
    pub limit: String,
    /// Whether others had the cores in most of the trials that failed.
    pub disturbed: bool,
    /// Why there is no rate; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

impl Round {
    /// Of the entry of a search.
    pub fn of(entry: &Entry) -> Self {
        let (fails_at, limit, stopped) = match &entry.details {
            Details::Throughput(found) => {
                (found.upper, found.limit.clone(), found.ended == "stopped")
            }
            _ => (None, String::new(), true),
        };
        let frames_per_second = entry.frames_per_second.filter(|_| !stopped);
        Self {
            frames_per_second,
            fails_at,
            limit,
            disturbed: mostly_disturbed(&entry.trials, "").is_some(),
            because: if frames_per_second.is_none() {
                entry.because.clone()
            } else {
                String::new()
            },
        }
    }

    fn counted(&self) -> Option<(f64, bool)> {
        Some((self.frames_per_second?, self.disturbed))
    }
}

/// How a size on some cores is called: `64 on core 1`, `64 on 2 cores`.
pub fn label(size: &str, cores: &[u32]) -> String {
    match cores {
        [core] => format!("{size} on core {core}"),
        cores => format!("{size} on {} cores", cores.len()),
    }
}

/// The entry of a search beside what came through in a `closed_loop` on the same cores, frames/s: less
/// than half of that is no rate of theirs.
pub fn beside_closed_loop(entry: Entry, closed_loop: f64) -> Entry {
    let low = entry.frames_per_second;
    let Some(rate) = low.filter(|rate| 2.0 * rate < closed_loop) else {
        return entry;
    };
    Entry {
        frames_per_second: None,
        verdict: Grade::Invalid,
        because: format!(
            "only {} held, and {} came through in a closed loop: others had the cores; run it again",
            FramesPerSecond(rate),
            FramesPerSecond(closed_loop)
        ),
        ..entry
    }
}

/// The row of some cores, from the entries of the searches of all rounds; `None` without one.
/// `selftest` is what the same cores do without a device, frames/s; `seed` fixes the draws behind
/// intervals.
pub fn row(
    size: &str,
    cores: &[u32],
    selftest: Option<f64>,
    searches: Vec<Entry>,
    seed: u64,
) -> Option<Entry> {
    let rounds: Vec<Round> = searches.iter().map(Round::of).collect();
    let found: Vec<(f64, bool)> = rounds.iter().filter_map(Round::counted).collect();
    let Judged { values, weak, .. } = judge(&found, rounds.len(), seed);
    let rate = Estimate::of(&values, seed);
    let known = (!values.is_empty()).then_some(rate);
    let (verdict, because) = match (known, weak) {
        (None, _) => searches
            .first()
            .map(|search| (search.verdict, search.because.clone()))?,
        (Some(_), Some(weak)) => (Grade::Noisy, words(weak).to_owned()),
        (Some(rate), None) => honest::grade(rate.value, selftest, limit(&rounds), None),
    };
    let first = searches.first()?;
    let mut entry = Entry {
        test: Test::Throughput,
        label: label(size, cores),
        frames_per_second: known.filter(|_| weak.is_none()).map(|rate| rate.value),
        verdict,
        because,
        stopped: searches.iter().find_map(|search| search.stopped.clone()),
        selftest_frames_per_second: selftest,
        details: Details::ByCores(ByCores {
            cores: cores.to_vec(),
            low: known.map(|rate| rate.interval.low),
            high: known.map(|rate| rate.interval.high),
            weak,
            rounds,
        }),
        trials: Vec::new(),
        ..first.clone()
    };
    entry.trials = searches
        .into_iter()
        .flat_map(|search| search.trials)
        .collect();
    Some(entry)
}

/// What held the answer down in most rounds.
fn limit(rounds: &[Round]) -> Limit {
    let most = |word: &str| {
        let of = rounds.iter().filter(|round| round.limit == word);
        2 * of.count() > rounds.len()
    };
    if most("range") {
        Limit::Range
    } else if most("tester") {
        Limit::Tester
    } else {
        Limit::Device
    }
}

/// Why rounds are no evidence.
pub fn words(weak: Weak) -> &'static str {
    match weak {
        Weak::Disturbed => "others had the cores in most rounds, and these differ or are only two",
        Weak::Scattered => "the rounds differ too much to tell",
    }
}

/// The cores and rounds of an entry that has some.
pub fn of(entry: &Entry) -> Option<&ByCores> {
    match &entry.details {
        Details::ByCores(found) => Some(found),
        _ => None,
    }
}

/// How many times the frames of one core those of several are.
#[derive(Debug, Clone, PartialEq)]
pub enum SpeedUp {
    /// So many, in this interval.
    Told(Estimate),
    /// There are ratios, and they are no evidence.
    Weak(Weak),
    /// The tester holds one of the rates down.
    Limited,
    /// One core was not measured, or found no rate, in any round that the others did.
    Unmeasured,
}

/// The speed-up of a row against the mean of the report's cores, each alone, at its size.
pub fn speed_up(report: &Report, entry: &Entry) -> SpeedUp {
    let Some(found) = of(entry) else {
        return SpeedUp::Unmeasured;
    };
    let alone = report.results.iter();
    let alone = alone.filter(|other| other.frame_bytes == entry.frame_bytes);
    let alone = alone.filter_map(|other| Some((other.verdict, of(other)?)));
    let (verdicts, alone): (Vec<Grade>, Vec<&ByCores>) = alone
        .filter(|(_, other)| other.cores.len() == 1 && found.cores.contains(&other.cores[0]))
        .unzip();
    if alone.len() < found.cores.len() {
        return SpeedUp::Unmeasured;
    }
    if entry.verdict == Grade::Limited || verdicts.contains(&Grade::Limited) {
        return SpeedUp::Limited;
    }
    let ratio = |(place, round): (usize, &Round)| {
        let (several, mut disturbed) = round.counted()?;
        let mut sum = 0.0;
        for one in &alone {
            let (rate, was) = one.rounds.get(place)?.counted()?;
            sum += rate;
            disturbed |= was;
        }
        Some((several / (sum / alone.len() as f64), disturbed))
    };
    let ratios: Vec<(f64, bool)> = found.rounds.iter().enumerate().filter_map(ratio).collect();
    let seed = report.environment.seed;
    let Judged { values, weak, .. } = judge(&ratios, found.rounds.len(), seed);
    match weak {
        _ if values.is_empty() => SpeedUp::Unmeasured,
        Some(weak) => SpeedUp::Weak(weak),
        None => SpeedUp::Told(Estimate::of(&values, seed)),
    }
}

#[cfg(test)]
#[path = "../tests/unit/by_cores.rs"]
mod tests;
