//! The track record of the forecasts: where it is kept, what a measurement adds to it, and how it
//! is shown.

use std::path::PathBuf;
use std::{env, fs, io};

use scaling::harness::notes::Note;
use scaling::result::ScaleResult;
use scaling::result::record::{Forecasts, SCHEMA};

use crate::common::{Outcome, Written};

/// Names the file of the record.
const VARIABLE: &str = "CORELANE_FORECASTS";

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Where the record is: the variable's file, else `corelane/forecasts.json` in the user's place for
/// state (XDG base directories).
fn place() -> Result<PathBuf, Failure> {
    let path = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    path(VARIABLE)
        .or_else(|| {
            let state =
                path("XDG_STATE_HOME").or_else(|| Some(path("HOME")?.join(".local/state")))?;
            Some(state.join("corelane/forecasts.json"))
        })
        .ok_or_else(|| {
            format!(
                "no place for the record of forecasts: HOME is not set; name a file in {VARIABLE}"
            )
            .into()
        })
}

/// The record, and whether there is a file of it.
fn read(path: &PathBuf) -> Result<(Forecasts, bool), Failure> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((Forecasts::default(), false));
        }
        Err(error) => return Err(format!("cannot read {}: {error}", path.display()).into()),
    };
    let record: Forecasts = serde_json::from_slice(&text).map_err(|error| {
        format!(
            "{} is not a record of forecasts ({SCHEMA}): {error}; move it away, or name another \
             file in {VARIABLE}",
            path.display()
        )
    })?;
    Ok((record, true))
}

/// Holds earlier forecasts against `result`, and with `keep` keeps those that it makes. Without
/// `keep` nothing is written where no record was begun.
pub(super) fn update(result: &mut ScaleResult, keep: bool) -> Result<(), Failure> {
    let path = match place() {
        Ok(path) => path,
        Err(_) if !keep => return Ok(()),
        Err(error) => return Err(error),
    };
    let (mut record, begun) = read(&path)?;
    if !begun && !keep {
        return Ok(());
    }
    let scored = record.score(result);
    if scored > 0 {
        result.notes.push(Note::Other {
            text: format!(
                "{scored} earlier forecast{} of this command could be held against these figures: \
                 see `corelane scale forecasts`.",
                if scored == 1 { "" } else { "s" }
            ),
        });
    }
    if keep {
        record.keep(result);
    }
    if scored > 0 || keep {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)
                .map_err(|error| format!("cannot make {}: {error}", directory.display()))?;
        }
        report::json::write(&path, &record)?;
    }
    Ok(())
}

/// Shows the record.
pub(super) fn show(written: &Written) -> Outcome {
    let (record, _) = read(&place()?)?;
    written.deliver(&record.document(), &record)
}
