//! The router from its outside: packets, routes, workers, in memory and between namespaces.

mod agreement;
mod auto;
mod config;
mod failures;
mod follow;
mod fuzz;
mod held;
mod inputs;
mod instructions;
mod lines;
mod links_held;
mod long_answers;
mod many_workers;
mod memory_engine;
mod mirror;
mod plain_sockets;
mod recording;
mod rights;
mod settings;
#[path = "inputs/shape.rs"]
mod shape;
mod supervisor;
mod support;
mod test_traffic;
mod toggles;
#[path = "../../fastpath/tests/common/watch.rs"]
mod watch;
mod worker;
mod worker_ends;
