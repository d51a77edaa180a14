//! The one file that knows about loom.

#[cfg(not(feature = "loom"))]
pub(crate) use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

#[cfg(feature = "loom")]
pub(crate) use loom::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
