//! Programs at tracepoints of the kernel.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use bpf::attach;
use bpf::program::Program;

use crate::Result;

/// Programs, each with its tracepoint. They run there for whatever the machine does, also for what is
/// not ours, as long as they are attached.
#[derive(Debug)]
pub(super) struct AtTracepoints {
    programs: Vec<(&'static str, Program)>,
    /// Of the programs, or nothing while none is attached.
    links: Mutex<Vec<OwnedFd>>,
}

impl AtTracepoints {
    /// Attaches them.
    pub(super) fn attach(programs: Vec<(&'static str, Program)>) -> Result<Self> {
        let these = Self {
            programs,
            links: Mutex::default(),
        };
        these.listen(true)?;
        Ok(these)
    }

    /// Attaches them or takes them away.
    pub(super) fn listen(&self, listen: bool) -> Result<()> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if !listen {
            links.clear();
        } else if links.is_empty() {
            let attach =
                |(tracepoint, program): &(&str, _)| attach::at_tracepoint(program, tracepoint);
            *links = self
                .programs
                .iter()
                .map(attach)
                .collect::<bpf::Result<_>>()?;
        }
        Ok(())
    }
}
