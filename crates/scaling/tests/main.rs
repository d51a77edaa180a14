//! The laws on published data, the keeper on bad commands, and live measurements.

mod keeper;
mod live;
mod published;
