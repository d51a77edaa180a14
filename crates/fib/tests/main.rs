//! The tables as a whole: against slower ones, while they change, and what they cost.

mod concurrent;
mod fuzz;
mod generated;
mod instructions;
mod internet;
mod loom;
mod memory;
mod organisation;
mod peers;
mod prefix;
mod prefix_file;
mod recorded;
mod script;
