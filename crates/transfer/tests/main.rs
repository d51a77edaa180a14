//! Transfers across a link whose truth is known.

mod known;
