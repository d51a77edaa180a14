//! Changing settings and putting them back, used as others use it.

mod crash;
mod double;
mod records;
