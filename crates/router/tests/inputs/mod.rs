//! What comes from outside, as bytes of any kind; each file says what must hold of it. Tests here
//! run some thousand inputs, `fuzz/fuzz_targets` as many as one likes, led by coverage.

pub(crate) mod announcements;
pub(crate) mod configuration;
pub(crate) mod requests;
pub(crate) mod treatments;
