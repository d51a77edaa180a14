//! Making changes, and putting back what was.

use std::io;

use crate::access::Access;
use crate::record::{Record, Records, TuneError};
use crate::setting::{Change, Setting};

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is so now.
    Done,
    /// The device did not take it, in its words.
    Refused(String),
    /// The queue, line or port has gone, and its settings with it.
    Gone,
}

/// A setting that was to have another value, and what became of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The port.
    pub port: String,
    /// What.
    pub setting: Setting,
    /// The value before.
    pub from: String,
    /// The value that it was to have.
    pub to: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// How often new queues may bring new settings with them.
const ROUNDS: usize = 3;

/// Makes the changes that `plan` says, and asks it again as long as it says new ones: settings of
/// queues come with the queues. Each setting is tried once.
///
/// # Errors
/// As [`apply`], or what `plan` says. The changes made until then are in the record.
pub fn apply_all(
    access: &impl Access,
    records: &Records,
    plan: impl Fn() -> Result<Vec<Change>, TuneError>,
) -> Result<Vec<Made>, TuneError> {
    let mut all: Vec<Made> = Vec::new();
    for _ in 0..ROUNDS {
        for change in plan()? {
            let is_same = |made: &Made| made.port == change.port && made.setting == change.setting;
            if !all.iter().any(is_same) {
                all.push(apply(access, records, &change)?);
            }
        }
    }
    Ok(all)
}

/// Makes one change, after noting what was; the oldest note of a setting stays.
///
/// # Errors
/// When there is no such port, or what was cannot be noted; nothing is changed then.
pub fn apply(access: &impl Access, records: &Records, change: &Change) -> Result<Made, TuneError> {
    let Change {
        port, setting, to, ..
    } = change;
    let index = access.index(port).map_err(|source| TuneError::NoPort {
        port: port.clone(),
        source,
    })?;
    let found = records.load(port)?.filter(|found| found.index == index);
    let mut record = found.unwrap_or_else(|| Record::new(port, index));
    let known = record.before.len();
    let mut noted = vec![*setting];
    if *setting == Setting::Queues {
        noted.extend(access.of_queues(port));
    }
    for setting in noted {
        let is_new = record.before.iter().all(|(noted, _)| *noted != setting);
        if let (true, Ok(value)) = (is_new, access.read(port, setting)) {
            record.before.push((setting, value));
        }
    }
    records.store(&record)?;
    let outcome = write(access, port, *setting, to);
    if let Outcome::Refused(_) = outcome
        && access
            .read(port, *setting)
            .is_ok_and(|now| now == change.from)
    {
        record.before.truncate(known);
        records.store(&record)?;
    }
    Ok(Made {
        port: port.clone(),
        setting: *setting,
        from: change.from.clone(),
        to: to.clone(),
        outcome,
    })
}

/// Puts back what a record says of a port; `None` when there is no record. What a device refuses
/// stays in the record.
///
/// # Errors
/// When the record cannot be read or written.
pub fn undo(
    access: &impl Access,
    records: &Records,
    port: &str,
) -> Result<Option<Vec<Made>>, TuneError> {
    let Some(mut record) = records.load(port)? else {
        return Ok(None);
    };
    let is_there = access.index(port).is_ok_and(|index| index == record.index);
    record.before.sort();
    let made = |setting, from, to: &str, outcome| Made {
        port: port.to_owned(),
        setting,
        from,
        to: to.to_owned(),
        outcome,
    };
    let mut all: Vec<Made> = Vec::new();
    // Some cards take queues only after the table that names them, some before: so twice.
    for _ in 0..2 {
        record.before.retain(|(setting, before)| {
            let now = access.read(port, *setting);
            let lost = now
                .as_ref()
                .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            let now = now.unwrap_or_default();
            let outcome = match &now {
                _ if !is_there || lost => Outcome::Gone,
                now if now == before => return false,
                _ => write(access, port, *setting, before),
            };
            let stays = matches!(outcome, Outcome::Refused(_));
            let is_own = |made: &&mut Made| made.setting == *setting;
            match all.iter_mut().find(is_own) {
                Some(former) => former.outcome = outcome,
                None => all.push(made(*setting, now, before, outcome)),
            }
            stays
        });
    }
    records.store(&record)?;
    Ok(Some(all))
}

/// Writes a value and reads it back: a driver may take another one without a word.
fn write(access: &impl Access, port: &str, setting: Setting, value: &str) -> Outcome {
    if let Err(error) = access.write(port, setting, value) {
        return Outcome::Refused(error.to_string());
    }
    match access.read(port, setting) {
        Ok(now) if now == value => Outcome::Done,
        Ok(now) => Outcome::Refused(format!("the device took {now} instead")),
        Err(error) => Outcome::Refused(error.to_string()),
    }
}
