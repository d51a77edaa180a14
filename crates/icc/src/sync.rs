//! The atomics that the ring and its memory are written with. `tests/loom.rs` compiles them a
//! second time with a module of this name that holds loom's atomics: nothing else in the crate
//! knows loom.

pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
