//! Guests and deployments for real. Root only: elsewhere each test says that it is skipped.

mod deployments;
mod guest;
