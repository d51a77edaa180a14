//! What more cores buy any program, how far, and what stops it.
//!
//! Two halves. The pure half knows no clock and no machine: [`laws`] turns rates at 1..N cores into
//! speed-up, efficiency, a scaling law with intervals and an honest forecast; [`cause`] splits the
//! lost efficiency exactly. The other half measures and hands its numbers to the first. Every
//! figure that is printed is a pure function of the recorded rounds, so a stored result can be
//! judged again without the machine it came from.
//!
//! What it cannot do: a law fitted to four cores or fewer names no peak, and a forecast goes no
//! further than twice the cores tried. Those limits are values in the results, not advice in a
//! manual.

#![allow(
    clippy::format_push_string,
    reason = "words are put together once a result"
)]
#![cfg_attr(
    test,
    allow(
        clippy::float_cmp,
        reason = "exact values are what the tests are about"
    )
)]

pub mod ab;
pub mod calibration;
pub mod cause;
pub mod harness;
pub mod instruments;
pub mod investigate;
pub mod laws;
pub mod measure;
pub mod result;
pub mod statistics;
pub mod suite;
pub mod workloads;
