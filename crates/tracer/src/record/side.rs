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
mod tests {
    use super::*;

    #[test]
    fn a_fork_and_a_name() {
        let mut fork = Vec::new();
        for word in [10_u32, 9, 11, 9] {
            fork.extend_from_slice(&word.to_le_bytes());
        }
        fork.extend_from_slice(&5_u64.to_le_bytes());
        fork.extend_from_slice(&77_u64.to_le_bytes());
        let change = news(PERF_RECORD_FORK, &fork).expect("a fork");
        assert_eq!((change.tid, change.process, change.time), (11, 10, 77));
        assert_eq!(change.what, TaskNews::Forked { parent: 9 });

        let mut name = 10_u32.to_le_bytes().to_vec();
        name.extend_from_slice(&11_u32.to_le_bytes());
        name.extend_from_slice(b"worker\0\0");
        name.extend_from_slice(&78_u64.to_le_bytes());
        let change = news(PERF_RECORD_COMM, &name).expect("a name");
        assert_eq!(change.what, TaskNews::Named("worker".to_owned()));
        assert!(news(PERF_RECORD_FORK, &[1, 2, 3]).is_none());
    }
}
