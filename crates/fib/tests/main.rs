//! The tables as a whole: against slower ones, while they change, and what they cost.

mod concurrent;
mod fuzz;
mod instructions;
mod internet;
mod loom;
mod memory;
mod recorded;
mod script;
