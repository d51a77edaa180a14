//! The programs' objects as they are carried inside: packed by gzip, to a quarter of their length.

use std::io::Read;

use bpf::program::Loader;
use flate2::read::GzDecoder;

/// An object that `build.rs` has packed.
#[derive(Clone, Copy)]
pub(crate) struct Packed(pub(crate) &'static [u8]);

/// The object of `bpf/NAME.bpf.c`.
macro_rules! packed {
    ($name:literal) => {
        $crate::packed::Packed(include_bytes!(concat!(
            env!("OUT_DIR"),
            "/",
            $name,
            ".bpf.o.gz"
        )))
    };
}
pub(crate) use packed;

impl Packed {
    /// The object as its compiler wrote it.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Proof: these are the bytes that `build.rs` packed, whole.
        GzDecoder::new(self.0)
            .read_to_end(&mut bytes)
            .expect("the object that was packed");
        bytes
    }

    /// Begins to load it.
    pub(crate) fn loader(self) -> bpf::Result<Loader> {
        Loader::new(&self.bytes())
    }
}

#[cfg(test)]
#[path = "../tests/unit/packed.rs"]
mod tests;
