//! From recorded runs to a judgement.

use figures::{Estimate, Interval, median_interval};

use super::{Cause, Control, LawResult, PointResult};
use crate::cause::split::median_split;
use crate::harness::notes::Note;
use crate::harness::plan::{Mode, Placement};
use crate::harness::series::Series;
use crate::laws::choice::choose_levelled;
use crate::laws::fit::fit;
use crate::laws::forecast::{from_refits, from_serial_fraction};
use crate::laws::form::{Form, Weighting};
use crate::laws::interval::{Refits, over_rounds};
use crate::laws::peak::{fell_after, judge};
use crate::laws::rates::Rates;
use crate::laws::segment::{Boundary, fit_segments};
use crate::laws::speedup::karp_flatt;

/// Draws of a bootstrap each of which is a refit of a law.
const REFITS: usize = 400;
/// Less than this is lost: there is no loss to divide.
const NO_LOSS: f64 = 0.02;
/// A control that misses 1 by less than this share harms no conclusion.
const MATTERS: f64 = 0.005;
/// A speed-up above the core count by this factor is no scatter.
const ABOVE: f64 = 1.03;
/// One core whose runs were busy for less than this share of what each of several was, was held up
/// by something else.
const HELD_UP: f64 = 0.9;
/// Timings scatter by a share of themselves.
const WEIGHTING: Weighting = Weighting::Relative;

/// One row for each core count and placement; every speed-up is against the first series on one
/// core in the same round.
pub fn points(series: &[Series], mode: Mode, seed: u64) -> Vec<PointResult> {
    let Some(base) = series.first() else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for one in series {
        for (place, &cores) in one.counts.iter().enumerate() {
            let ratios: Vec<f64> = one
                .rounds
                .iter()
                .zip(&base.rounds)
                .map(|(round, first)| round[place].rate / first[0].rate)
                .collect();
            let Estimate {
                value: speedup,
                interval,
            } = Estimate::of(&ratios, seed);
            let cost = one.cost(place);
            let width = match one.placement {
                Placement::Pinned => cores,
                Placement::Free => one.counts.last().copied().unwrap_or(1),
            };
            let capacity = cost.wall * f64::from(width);
            rows.push(PointResult {
                cores,
                mode,
                placement: one.placement,
                seconds: one.median(place, |run| run.wall),
                rate: one.median(place, |run| run.rate),
                speedup,
                low: interval.low,
                high: interval.high,
                efficiency: speedup / f64::from(cores),
                karp_flatt: karp_flatt(speedup, cores),
                busy: one.busy(place),
                user: cost.user,
                system: cost.system,
                steal: if capacity > 0.0 {
                    cost.steal / capacity
                } else {
                    0.0
                },
            });
        }
    }
    rows
}

/// The control's median and interval, and a note when 1 is not in it.
pub fn control(ratios: &[f64], seed: u64) -> (Option<Control>, Option<Note>) {
    if ratios.is_empty() {
        return (None, None);
    }
    let Estimate {
        value: ratio,
        interval,
    } = Estimate::of(ratios, seed);
    // Few rounds miss by chance: the note needs an interval that deserves the name, and a miss that
    // matters.
    let missed =
        ratios.len() >= 5 && (interval.low > 1.0 + MATTERS || interval.high < 1.0 - MATTERS);
    let note = missed.then_some(Note::ControlMissed {
        low: interval.low,
        high: interval.high,
    });
    (Some(Control { ratio, interval }), note)
}

/// What a speed-up above the core count means: a gain of the command, or a single core that
/// something else had a part of.
pub fn above_linear(points: &[PointResult]) -> Option<Note> {
    let above = points
        .iter()
        .find(|p| p.cores > 1 && p.low > ABOVE * f64::from(p.cores))?;
    let (one, each) = (points.first()?.busy, above.busy / f64::from(above.cores));
    Some(if one < HELD_UP * each {
        Note::HeldUp { one, each }
    } else {
        Note::Superlinear
    })
}

/// The law over the rounds of one series, with everything that it permits to be said.
pub fn law(rounds: &Rates, boundaries: &[Boundary], seed: u64) -> LawResult {
    let rounds = &rounds.levelled();
    let (medians, every_run) = (rounds.medians(), rounds.every_run());
    let count = rounds.rates.len();
    let mut choice = choose_levelled(&every_run, count, WEIGHTING);
    let refits = |form: Form| {
        let counts = rounds.cores.len();
        (counts > form.parameters()).then(|| over_rounds(rounds, form, WEIGHTING, REFITS, seed))
    };
    let full: Option<Refits> = refits(Form::Usl);
    let coefficients = full.as_ref().map(Refits::coefficients);
    let tried = rounds.cores.last().copied().unwrap_or(1);
    let last = rounds.cores.len().saturating_sub(1);
    let serial_fraction = (tried > 1).then(|| {
        let speedup = rounds.speedup(last, seed);
        let e = |s: f64| karp_flatt(s, tried).unwrap_or(0.0);
        let Interval { low, high } = speedup.interval;
        (e(speedup.value), Interval::new(e(high), e(low)))
    });
    // Two core counts can only be held against linear scaling; where that fails no law is left to
    // choose.
    let excluded = serial_fraction.is_some_and(|(_, interval)| !interval.contains(0.0));
    if choice.candidates.len() == 1 && excluded {
        choice.chosen = None;
    }
    let chosen = choice.fit().and_then(|chosen| {
        let best = fit(&medians, chosen.form, WEIGHTING).ok()?;
        Some((chosen.form, best.law.peak().unwrap_or(f64::INFINITY)))
    });
    let forecast = match (&full, refits(Form::Amdahl), serial_fraction) {
        (Some(full), Some(amdahl), _) => from_refits(&[full.clone(), amdahl], tried),
        (_, _, Some((_, interval))) => from_serial_fraction(interval, tried),
        _ => Vec::new(),
    };
    LawResult {
        peak: judge(&medians, chosen, coefficients.as_ref(), fell_after(rounds)),
        segments: if boundaries.is_empty() {
            Vec::new()
        } else {
            fit_segments(&every_run, count, boundaries, WEIGHTING)
        },
        choice,
        coefficients,
        serial_fraction,
        forecast,
        weighting: WEIGHTING,
    }
}

/// The parts of the lost efficiency at the largest core count of a series. Empty when nothing to
/// speak of was lost, or the runs were too short for the kernel to say what they cost.
pub fn causes(series: &Series, seed: u64) -> Vec<Cause> {
    let last = series.counts.len().saturating_sub(1);
    if last == 0 {
        return Vec::new();
    }
    let each = series.splits();
    let Some(whole) = median_split(&each) else {
        return Vec::new();
    };
    if whole.efficiency() > 1.0 - NO_LOSS {
        return Vec::new();
    }
    let evidence = [
        "wall time without CPU time, exact",
        "steal in /proc/stat, grain 10 ms",
        "user CPU time of the process tree, exact",
        "system CPU time of the process tree, exact",
    ];
    whole
        .parts()
        .iter()
        .zip(evidence)
        .enumerate()
        .map(|(place, (&(name, part), evidence))| {
            let shares: Vec<f64> = each
                .iter()
                .map(|s| s.parts()[place].1 / whole.total)
                .collect();
            Cause {
                name: name.to_owned(),
                of: None,
                share: part / whole.total,
                interval: Some(median_interval(&shares, seed)),
                factor: part.exp(),
                evidence: evidence.to_owned(),
            }
        })
        .collect()
}
