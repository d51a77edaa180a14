//! The router from its outside: packets, routes, workers, in memory and between namespaces.

mod agreement;
mod follow;
mod fuzz;
mod instructions;
mod memory_engine;
mod mirror;
mod packet_engine;
mod support;
mod worker;
mod worker_ends;
