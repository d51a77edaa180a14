//! What a comparison is planned and advised by; guests and deployments for real, root only:
//! elsewhere each of these tests says that it is skipped.

mod advise;
mod compare;
mod deployments;
mod flows;
mod guest;
mod plan;
