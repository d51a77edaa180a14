//! Guests and deployments for real. Root only: elsewhere each test says that it is skipped.

mod deployments;
mod guest;

use std::sync::Mutex;

/// Held by each test that measures: it would take the cores from another.
static CORES: Mutex<()> = Mutex::new(());
