//! The management plane: configuration, a socket that answers, metrics. For people and their
//! programs.
//!
//! ```text
//!  config     the TOML file: every key, validated before anything starts
//!  server     a UNIX socket (JSON) and HTTP; asks the control plane's thread
//!  http       what is served by HTTP
//!  console    one page that shows the router, and what it asks
//!  pieces     an answer of any length, some hundred rows at a time
//!  answers    what `corelane show` prints
//!  capture    what is said about a capture
//!  explain    what becomes of a packet, step by step
//!  forms      the forms of these answers
//!  metrics    the same for a time-series database
//!  recording  what a router did in its last seconds, as a document
//!  node       what a router says to others' operators: how it does, by which routes
//!  client     asks a running router
//!  supervisor tells the service manager that the router is ready, alive or reloading
//! ```

pub mod answers;
pub mod capture;
pub mod client;
pub mod config;
pub mod console;
pub mod explain;
pub mod forms;
mod http;
pub mod metrics;
pub mod node;
pub mod pieces;
pub mod recording;
pub mod server;
pub mod supervisor;
