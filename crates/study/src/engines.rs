//! The engines that a study can measure. A new engine is a file with an `open` function and a line
//! in [`ENGINES`].

use dut::device::{Device, Setting};
use dut::error::Error;
use dut::{af_packet, kernel, memory, xdp};

/// The engines, in the order in which reports name them.
pub(crate) const ENGINES: &[Kind] = &[
    Kind::anybody("memory", memory::open),
    Kind::root("kernel", kernel::open),
    Kind::root("xdp", xdp::open),
    Kind::root("xdp-kernel-fib", xdp::open_kernel_fib),
    Kind::root("af-xdp", xdp::open_sockets),
    Kind::root("af-packet", af_packet::open),
];

/// A line of the list.
pub(crate) struct Kind {
    /// Its name in options and results.
    pub(crate) name: &'static str,
    /// Whether it needs network namespaces.
    pub(crate) needs_root: bool,
    /// Makes one ready to measure.
    pub(crate) open: Open,
}

type Open = fn(&Setting) -> Result<Box<dyn Device>, Error>;

impl Kind {
    const fn anybody(name: &'static str, open: Open) -> Self {
        Self {
            name,
            needs_root: false,
            open,
        }
    }

    const fn root(name: &'static str, open: Open) -> Self {
        Self {
            name,
            needs_root: true,
            open,
        }
    }
}

/// All names, for an error message.
pub(crate) fn names() -> String {
    ENGINES
        .iter()
        .map(|kind| kind.name)
        .collect::<Vec<_>>()
        .join(", ")
}
