//! Linux's own forwarding, in namespaces made for the test.

use tester::rig::{Rig, RigError};
use tester::veth::Testbed;

use super::namespaces::{Ground, cores};
use super::rigs::Maker;
use super::{Stand, filters, reasons};
use crate::error::Error;

struct Kernel {
    testbed: Testbed,
    maker: Maker,
    /// Commands of nft, when the device filters.
    filters: Option<Vec<String>>,
}

/// Makes the namespaces; sets the `filters`, commands of nft, if there are any.
///
/// # Errors
/// Without root, or when the kernel or nft refuses.
pub fn open(
    maker: Maker,
    ground: Ground,
    filters: Option<Vec<String>>,
) -> Result<Box<dyn Stand>, Error> {
    let testbed = ground.lay(&maker)?;
    if let Some(commands) = &filters {
        filters::set(&testbed.device, commands)?;
    }
    Ok(Box::new(Kernel {
        testbed,
        maker,
        filters,
    }))
}

impl Stand for Kernel {
    fn rig(&self) -> Result<Box<dyn Rig>, RigError> {
        let (device, ports) = (self.testbed.device.clone(), self.testbed.ports.clone());
        let reasons = reasons::kernel(device, ports);
        self.maker
            .device(&self.testbed, "the kernel's forwarding", reasons)
    }

    fn wire(&self) -> Result<Box<dyn Rig>, RigError> {
        self.maker.wire(&self.testbed)
    }

    fn facts(&self) -> Vec<(String, String)> {
        let filters = self.filters.as_ref();
        let filters = filters.map(|commands| ("Filters".to_owned(), commands.join("; ")));
        [cores(&self.testbed)].into_iter().chain(filters).collect()
    }

    fn reset_words(&self) -> &'static str {
        "ports set down and up, addresses, neighbours and routes restored"
    }

    fn reset(&self) -> Result<(), Error> {
        Ok(self.testbed.flap()?)
    }
}
