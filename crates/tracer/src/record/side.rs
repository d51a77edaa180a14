//! The side-band records of perf: births, names and deaths of threads (`PERF_RECORD_FORK`, `COMM`,
//! `EXIT`).

use perf_event_open_sys::bindings::{PERF_RECORD_COMM, PERF_RECORD_EXIT, PERF_RECORD_FORK};

use crate::event::{TaskChange, TaskNews};

/// The news in a record's body, if it carries any. `time` is the last word of the body
/// (`sample_id_all`).
pub(crate) fn news(kind: u32, body: &[u8]) -> Option<TaskChange> {
    let word = |at: usize| Some(u32::from_le_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let time = u64::from_le_bytes(body.get(body.len().checked_sub(8)?..)?.try_into().ok()?);
    let (tid, what) = match kind {
        // pid, ppid, tid, ptid, time
        PERF_RECORD_FORK => (word(8)?, TaskNews::Forked { parent: word(4)? }),
        PERF_RECORD_EXIT => (word(8)?, TaskNews::Exited),
        // pid, tid, name; the misc bit that tells an exec is not needed: the name is what changes.
        PERF_RECORD_COMM => {
            let text = body.get(8..body.len().checked_sub(8)?)?;
            let name = text.split(|byte| *byte == 0).next()?;
            let name = String::from_utf8_lossy(name).into_owned();
            (word(4)?, TaskNews::Named(name))
        }
        _ => return None,
    };
    Some(TaskChange {
        time,
        tid,
        process: word(0)?,
        what,
    })
}

#[cfg(test)]
#[path = "../../tests/unit/side.rs"]
mod tests;
