//! Namespaces of our own, for the stands whose device is in one.

use tester::veth::Testbed;

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
    pub(super) fn lay(self, maker: &Maker) -> Result<Testbed, Error> {
        let mut testbed = Testbed::with_ports(maker.ports, self.mtu, true)?;
        if self.wide {
            testbed.widen()?;
        }
        if self.anywhere {
            testbed.route_everything()?;
        }
        Ok(testbed)
    }
}

/// The cores' fact for the report.
pub(super) fn cores(testbed: &Testbed) -> (String, String) {
    ("Cores".to_owned(), testbed.cores())
}
