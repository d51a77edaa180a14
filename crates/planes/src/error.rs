//! Why something could not be done: mostly with one deployment, and the others go on.

use std::io;
use std::path::PathBuf;

/// What went wrong with a part of a comparison, or with all of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Ctrl-C.
    #[error("interrupted; everything that was made is removed")]
    Interrupted,
    /// Fewer than two cores.
    #[error("planes need two cores, this process may use {0}: allow more (taskset, cgroup)")]
    Cores(usize),
    /// Not root.
    #[error("namespaces, guests and partitions need root; run the command with sudo")]
    NotRoot,
    /// A program or a kernel of another is missing; says which, and in which package it is.
    #[error("{0}")]
    NotInstalled(String),
    /// The program for the guest is missing.
    #[error("{path}: {source}; build it with \"make guest\"")]
    NoProgram {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Files, processes or connections of the host failed.
    #[error("cannot {doing}: {source}")]
    Host {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Namespaces and what lies in them.
    #[error(transparent)]
    Namespace(#[from] host::namespace::Error),
    /// Cores and ranks of tasks.
    #[error(transparent)]
    Task(#[from] host::tasks::TaskError),
    /// The sending core.
    #[error(transparent)]
    Pin(#[from] host::pin::PinError),
    /// The partition of a deployment.
    #[error(transparent)]
    Partition(#[from] host::partition::PartitionError),
    /// The generator or the sink.
    #[error(transparent)]
    Fastpath(#[from] fastpath::Error),
    /// The packet socket through which few frames leave.
    #[error(transparent)]
    Port(#[from] port::PortError),
    /// The link between the planes.
    #[error("between control and user plane: {0}")]
    Link(#[from] icc::LinkError),
    /// A transport that is none.
    #[error("the link between the planes does not keep its rules: {0}")]
    Violation(#[from] icc::conformance::Violation),
    /// An agent that runs and does not answer, for so many seconds.
    #[error("the user plane has not answered for {0} s")]
    Silent(u64),
    /// An answer that says no.
    #[error("the user plane refuses: {0}")]
    Refused(String),
    /// An answer nobody understands.
    #[error("the user plane's answer is not understood: {0}; are both of one build?")]
    Answer(serde_json::Error),
    /// The agent did not come up.
    #[error("the user plane's agent did not come up ({0})")]
    Agent(String),
    /// The guest ended or stayed silent.
    #[error("the guest did not come up ({outcome}); the end of its console:\n{console}")]
    Boot {
        /// Exit status or time passed.
        outcome: String,
        /// Its last lines.
        console: String,
    },
    /// The web server does not answer.
    #[error("the web server does not answer on port {0} of its namespace")]
    NoWebServer(u16),
    /// iperf3 ran and did not connect.
    #[error("iperf3 measured nothing: {0}")]
    Iperf(String),
    /// A trial that received more than it sent has counted wrongly.
    #[error(
        "{received} different frames received of {sent} sent: a device duplicates or keeps frames \
         unseen. Remove what else is attached to the test's cables; report it if there is nothing"
    )]
    MoreThanSent {
        /// Frames sent in the trial.
        sent: u64,
        /// Different ones received, of those that left in the trial.
        received: u64,
    },
}

/// What the host answers while `doing` something becomes an error.
pub(crate) fn host(doing: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Host { doing, source }
}
