//! The atomics that [`crate::quiescence`] is written with. `tests/loom.rs` compiles that file a
//! second time with a module of this name that holds loom's atomics: nothing else in the crate
//! knows loom.

pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
