//! How a program stays known to the kernel, so that running it by hand is quick.

use std::fs::File;

use bpf::attach::{Attachment, Request};
use bpf::program::Program;

/// Keeps a program in the kernel's dispatcher: an attachment in a namespace of its own.
#[derive(Debug)]
pub(super) struct Resident {
    _attachment: Attachment,
    _namespace: File,
}

impl Resident {
    /// `None` when the kernel refuses: then everything works, with a longer pause in each call.
    pub(super) fn new(program: &Program) -> Option<Self> {
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    // SAFETY: changes only the namespace of this thread, which ends here.
                    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                        return None;
                    }
                    Some(Self {
                        _attachment: Attachment::new(program, "lo", Request::Generic).ok()?,
                        _namespace: File::open("/proc/thread-self/ns/net").ok()?,
                    })
                })
                .join()
                .ok()?
        })
    }
}
