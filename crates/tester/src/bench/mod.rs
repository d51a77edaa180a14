//! The tests as short procedures over a [`Session`]: each asks for trials
//! and makes one [`Entry`] of them.

pub mod back_to_back;
pub mod bursts;
mod goals;
pub mod latency;
pub mod loss;
pub mod recovery;
pub mod reset;
pub mod selftest;
pub mod sweep;
pub mod throughput;

use crate::honest::{self, Grade};
use crate::result::{Details, Entry, Test};
use crate::search::Limit;
use crate::session::Session;
use crate::trial::{Trial, Validity};

/// What an entry is called and compared with.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// How the size is called.
    pub label: String,
    /// The self-test's rate at this size, frames/s.
    pub selftest: Option<f64>,
}

impl Subject {
    /// What a rate is worth beside the self-test's, after the trials of a session.
    fn grade(&self, session: &Session<'_>, rate: f64, limit: Limit) -> Verdict {
        honest::grade(rate, self.selftest, limit, noise(session).as_deref())
    }
}

/// What a result is worth, and why.
type Verdict = (Grade, String);

/// The device failed, and this is how.
fn failed(because: impl Into<String>) -> Verdict {
    (Grade::Failed, because.into())
}

/// The tester failed, and this is how.
fn invalid(because: impl Into<String>) -> Verdict {
    (Grade::Invalid, because.into())
}

/// What a test found.
struct Finding {
    /// Frames/s.
    rate: Option<f64>,
    verdict: Verdict,
    details: Details,
}

/// Runs a test in a session and makes its entry; a test that cannot begin has a verdict alone.
fn entry(
    mut session: Session<'_>,
    test: Test,
    subject: &Subject,
    work: impl FnOnce(&mut Session<'_>) -> Result<Finding, Verdict>,
) -> Entry {
    let found = work(&mut session).unwrap_or_else(|verdict| Finding {
        rate: None,
        verdict,
        details: Details::None,
    });
    let frame_bytes = session.order.mean_size().round() as u32;
    let theoretical = session.theoretical();
    let (trials, stopped) = session.finish();
    let stopped = stopped.map(|reason| reason.to_string());
    let (verdict, because) = match &stopped {
        Some(reason) if found.rate.is_none() => {
            invalid(format!("stopped before an answer was found: {reason}"))
        }
        _ => found.verdict,
    };
    Entry {
        test,
        frame_bytes,
        label: subject.label.clone(),
        frames_per_second: found.rate,
        verdict,
        because,
        stopped,
        selftest_frames_per_second: subject.selftest,
        theoretical_frames_per_second: theoretical,
        details: found.details,
        trials,
    }
}

/// Why the result is doubtful: trials that decided it were disturbed.
fn noise(session: &Session<'_>) -> Option<String> {
    let deciding = session.trials().iter().filter(|trial| !trial.repeated);
    disturbed(deciding.filter(|trial| trial.validity.counts()), 0.0, "")
}

/// Says how many of `trials` were disturbed, if more than a share; `which` follows *trials*.
fn disturbed<'a>(
    trials: impl Iterator<Item = &'a Trial>,
    share: f64,
    which: &str,
) -> Option<String> {
    let (mut all, mut noisy, mut last) = (0_u32, 0_u32, None);
    for trial in trials {
        all += 1;
        if let Validity::Noisy(reason) = &trial.validity {
            noisy += 1;
            last = Some(reason);
        }
    }
    let last = last.filter(|_| f64::from(noisy) > share * f64::from(all))?;
    Some(format!(
        "{noisy} of {all} trials{which} were disturbed; in the last, {last}"
    ))
}

/// The device's own failure in words, from the last trial that shows one; where anything came back
/// at all, from the last in which it did: a trial of a single frame that was lost does not say that
/// the device forwards nothing.
fn complaint(session: &Session<'_>) -> String {
    let last = |something_came: bool| {
        session
            .trials()
            .iter()
            .rev()
            .filter(|trial| !something_came || trial.counts.came() > 0)
            .find_map(Trial::complaint)
    };
    let invalid = || {
        let reason = |trial: &Trial| match &trial.validity {
            Validity::Invalid(reason) => Some(format!("no trial was valid; in the last, {reason}")),
            Validity::Valid | Validity::Noisy(_) => None,
        };
        session.trials().iter().rev().find_map(reason)
    };
    last(true)
        .or_else(|| last(false))
        .or_else(invalid)
        .unwrap_or_else(|| "no trial was run".to_owned())
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}
