//! The one door to devices: from a kind to something that forwards.

use crate::device::{Device, Setting};
use crate::error::Error;
use crate::kind::Kind;
use crate::{kernel, memory, router};

/// Makes a device ready to measure. That of a kind `memory` has all its tables.
///
/// # Errors
/// When the tables do not fit into memory, a namespace cannot be made, an engine not be opened, or
/// a route is refused.
pub fn open(kind: Kind, setting: &Setting) -> Result<Box<dyn Device>, Error> {
    match kind {
        Kind::Memory(_) => memory::open(setting),
        Kind::Kernel => kernel::open(setting),
        Kind::Router(kind) => router::open(kind, setting),
    }
}
