//! The program as its users run it: every verb, on this machine.

mod page;
mod planes;
mod router;
mod scale;
mod study;
mod tester;

use std::sync::Mutex;

/// Held by each test that measures: it would take the cores from another.
static CORES: Mutex<()> = Mutex::new(());
