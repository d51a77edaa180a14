//! The program as its users run it: every verb, on this machine.

mod announce;
mod contract;
mod deploy;
mod dist;
mod each;
mod fleet;
mod fleet_commands;
mod lab;
mod page;
mod pages;
mod planes;
mod reference;
mod router;
mod scale;
mod schemas;
mod study;
mod tester;
mod trace;
mod tune;
mod verbs;
