//! What this crate makes of the machine, used as others use it.

mod bed;
mod card;
mod cleanup;
mod cores;
mod environment;
mod loops;
mod namespace;
mod napi;
mod offload;
mod partition;
mod pin;
mod pressure;
mod process;
mod routes;
mod settings;
mod temporary;
mod topology;
