//! The searches against simulated devices: nothing here takes a clock or does I/O.

mod bisection;
mod controller;
mod oracle;
mod simulated;
