//! A rig: tester's ports with a device between them, able to run one trial at a time.

use crate::trial::{Order, Trial};

/// Something that happens to the device during a trial.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// When, ns after the first frame.
    pub at_ns: u64,
    /// What; runs on a thread of its own.
    pub action: &'a (dyn Fn() + Sync),
}

/// Why a trial could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// A signal came.
    #[error("interrupted")]
    Interrupted,
    /// A port of the tester failed or vanished.
    #[error(transparent)]
    Port(#[from] port::PortError),
    /// The generator or sink in the kernel failed.
    #[error(transparent)]
    Kernel(#[from] fastpath::Error),
    /// An interface could not be found or attached to.
    #[error(transparent)]
    Bpf(#[from] bpf::Error),
    /// Namespaces or interfaces could not be set up.
    #[error(transparent)]
    Namespace(#[from] host::namespace::Error),
    /// A core was refused.
    #[error(transparent)]
    Core(#[from] host::pin::PinError),
    /// The far machine of a test between two.
    #[error("{0}")]
    Far(String),
    /// A file of ours could not be written.
    #[error("cannot write a file for the set-up: {0}")]
    File(#[from] std::io::Error),
    /// This rig cannot do what the order asks.
    #[error("{rig} cannot {what}; {remedy}")]
    Unable {
        /// Which rig.
        rig: &'static str,
        /// What was asked.
        what: String,
        /// What to do instead.
        remedy: &'static str,
    },
}

impl RigError {
    pub(crate) fn unable(rig: &'static str, what: &str, remedy: &'static str) -> Self {
        let what = what.to_owned();
        Self::Unable { rig, what, remedy }
    }
}

/// What a rig gives, or why it cannot.
pub type Result<T, E = RigError> = std::result::Result<T, E>;

/// Runs trials.
pub trait Rig {
    /// Runs one trial as ordered and records it; `purpose` is kept in the record.
    ///
    /// # Errors
    /// The trial could not be run at all. A trial that ran badly is no error: its record says so.
    fn run(&mut self, order: &Order, purpose: &str, event: Option<Event<'_>>) -> Result<Trial>;

    /// What the rig is, for the report: ports, generator, device.
    fn describe(&self) -> String;

    /// Bits per second of the medium, where it has a rate. veth and memory have none.
    fn line_rate(&self) -> Option<f64> {
        None
    }

    /// Highest rate worth asking for at a size, frames/s in each direction: where a search begins
    /// without a self-test.
    fn ceiling(&self) -> f64;

    /// Whether trials take the time that they last.
    fn is_real(&self) -> bool {
        true
    }
}

impl<R: Rig + ?Sized> Rig for Box<R> {
    fn run(&mut self, order: &Order, purpose: &str, event: Option<Event<'_>>) -> Result<Trial> {
        (**self).run(order, purpose, event)
    }

    fn describe(&self) -> String {
        (**self).describe()
    }

    fn line_rate(&self) -> Option<f64> {
        (**self).line_rate()
    }

    fn ceiling(&self) -> f64 {
        (**self).ceiling()
    }

    fn is_real(&self) -> bool {
        (**self).is_real()
    }
}
