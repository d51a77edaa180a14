//! What is made of recorded runs.

mod judge;
mod record;
