//! Why a measurement ends without a result.

/// Says in words what failed and what to do about it.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
