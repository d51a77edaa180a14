//! Kernels of their own for some of the cores.

mod archive;
mod uml;

pub use uml::{Guest, GuestError, LINK_BYTES, Plan, sweep_leftovers};
pub(crate) use uml::{kill_group, shared_memory};

use std::path::PathBuf;

/// The static program for guests: what `CORELANE_GUEST` names, else the file `corelane-guest`
/// beside this program, else what `make guest` built in the source tree that this program was
/// built from. `None` when there is none.
pub fn program() -> Option<PathBuf> {
    let named = std::env::var_os("CORELANE_GUEST").map(PathBuf::from);
    let beside = std::env::current_exe()
        .ok()
        .map(|own| own.with_file_name("corelane-guest"));
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/x86_64-unknown-linux-musl/release/corelane-guest");
    [named, beside, Some(built)]
        .into_iter()
        .flatten()
        .find(|path| path.is_file())
}
