//! Namespaces of our own, for the stands whose device is in one.

use tester::veth::Bench;

use super::rigs::Maker;
use crate::error::Error;

/// What namespaces are made for.
#[derive(Debug, Clone, Copy)]
pub struct Ground {
    /// MTU of the interfaces, bytes.
    pub mtu: u16,
    /// More IPv4 destinations lie behind a port than fit into its ordinary networks.
    pub wide: bool,
    /// Destinations are anywhere, as those of a capture are.
    pub anywhere: bool,
}

impl Ground {
    /// Makes namespaces with a kernel that forwards.
    ///
    /// # Errors
    /// Without root, or when the kernel refuses.
    pub(super) fn lay(self, maker: &Maker) -> Result<Bench, Error> {
        let mut bench = Bench::with_ports(maker.ports, self.mtu, true)?;
        if self.wide {
            bench.widen()?;
        }
        if self.anywhere {
            bench.route_everything()?;
        }
        Ok(bench)
    }
}

/// The cores' fact for the report.
pub(super) fn cores(bench: &Bench) -> (String, String) {
    ("Cores".to_owned(), bench.cores())
}
