//! How many packets a machine forwards on 1..N cores, by engine and table organisation.
//!
//! The way of a study: wishes become a [`choice`], the choice a [`plan`]; [`measure`] runs it on
//! devices of the crate `dut`, its rows are the [`result`], and everything shown is a function of
//! that result: the [`answer`] for one minute, [`tables`], [`sentences`] and [`plots`] for more, put
//! together by [`page`]. [`transfers`] go between hosts, beside that way.

mod against_kernel;
pub mod answer;
mod bare;
pub mod bounds;
pub mod choice;
mod claims;
mod evidence;
pub mod line;
mod lock_price;
mod matrix;
pub mod measure;
mod model;
mod no_loss;
mod observer;
pub mod page;
mod pictures;
pub mod plan;
pub mod plots;
pub mod readme;
pub mod result;
mod route_changes;
mod row;
mod sentences;
mod speed_up;
mod tables;
#[cfg(test)]
#[path = "../tests/unit/testing.rs"]
mod testing;
mod transfers;
