//! Tracepoints that stay open between recordings.
//!
//! When the last event of a tracepoint is closed, the kernel waits until no core can still be in
//! it, some 45 ms, for one tracepoint after another: nearly a second for a recording. Who makes
//! many recordings keeps one silent event of each open meanwhile.

use super::points::{paths, points, switches};
use super::sources::Core;
use super::{Options, RecordError, machine, tracefs};

/// The tracepoints of a recording, open and silent on one core until dropped.
pub struct Kept {
    _core: Option<Core>,
}

impl Kept {
    /// Opens the tracepoints that recordings with these `options` open.
    ///
    /// # Errors
    /// As those recordings.
    pub fn open(options: &Options) -> Result<Self, RecordError> {
        let mut header = machine::header();
        let formats = tracefs::formats(&options.system, &paths(options))?;
        // The programs go at once: they cost no such wait.
        let which = switches(options, &mut header).map(|(_, which)| which);
        let (_, wanted) = points(options, &formats, which, &mut header)?;
        let first = header.cores.first();
        let core = first.map(|cpu| Core::open(*cpu, 1, &wanted, &options.system));
        Ok(Self {
            _core: core.transpose()?,
        })
    }
}
