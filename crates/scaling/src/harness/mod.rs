//! Running commands on chosen cores and counting what they cost.
//!
//! [`order`] says which cores come first, [`plan`] what one setting runs, [`keeper`] runs it and
//! leaves nothing behind, `disturbance` reads from [`host::observe`] whether others had the cores
//! meanwhile, [`sweep`] does rounds of settings in random order, as many as [`pace`] allows, with
//! each core in turn as the `baseline`, [`beside`] two commands together, and [`notes`] says what
//! was odd about a command or the machine.

pub mod allowance;
pub mod bandwidth;
mod baseline;
pub mod beside;
mod disturbance;
pub mod interrupts;
pub mod keeper;
pub mod notes;
mod oddities;
pub mod one_core;
pub mod order;
pub mod pace;
pub mod plan;
pub mod press;
pub mod profile;
pub mod runs;
pub mod series;
pub mod sweep;
pub mod watch;
