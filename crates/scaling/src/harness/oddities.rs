//! What was odd about a command, as a sweep saw it.

use std::time::Duration;

use super::keeper::Outcome;
use super::notes::Note;
use super::plan::{Job, Mode, Placement};
use super::series::Series;

/// A command that prints more than this in a run is told so.
const MUCH: u64 = 100_000_000;
/// A run shorter than this is mostly the start of a process.
const SHORT: Duration = Duration::from_millis(5);

/// Notes on `job` from its trial on one core and from all its runs.
pub(super) fn oddities(job: &Job, trial: &Outcome, series: &[Series]) -> Vec<Note> {
    let mut notes = Vec::new();
    if trial.printed > MUCH {
        notes.push(Note::PrintsMuch {
            bytes: trial.printed,
        });
    }
    if trial.outlived > 0 {
        notes.push(Note::ForksAway {
            processes: trial.outlived,
        });
    }
    if trial.wall < SHORT {
        notes.push(Note::Short {
            milliseconds: trial.wall.as_secs_f64() * 1e3,
        });
    }
    if job.mode == Mode::Copies || trial.wall < SHORT {
        return notes;
    }
    for one in series {
        let last = one.counts.len() - 1;
        match one.placement {
            Placement::Pinned => {
                let busy = one.busy(last);
                // Where other programs had the cores nobody knows what the command would have used.
                let crowded = one.rounds.iter().filter(|r| r[last].crowded()).count();
                let known = 2 * crowded <= one.rounds.len();
                if known && one.counts[last] > 1 && busy < 1.1 && one.busy(0) > 0.5 {
                    notes.push(Note::IgnoresCores {
                        busy,
                        cores: one.counts[last],
                    });
                }
            }
            Placement::Free if one.busy(0) > 1.2 => {
                notes.push(Note::UsesMore { busy: one.busy(0) });
            }
            Placement::Free => {}
        }
    }
    notes
}

#[cfg(test)]
#[path = "../../tests/unit/harness_oddities.rs"]
mod tests;
