//! The laws on data that are known.

mod choice;
mod fit;
mod forecast;
mod peak;
mod segment;
