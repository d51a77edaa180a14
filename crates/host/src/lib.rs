//! This machine: its cores, threads, processes and networks, and what we make of them.
//!
//! - which cores are there, which may we use: [`cores`], [`topology`]
//! - which core does a thread run on, and who comes first there: [`pin`], [`favour`], [`napi`]
//! - how much did others disturb: [`noise`], [`pressure`], [`pace`], seen by [`lookers`]
//! - which machine was it: [`environment`]
//! - a child process, and its end: [`process`]
//! - how an interface is divided among cores: [`card`]
//! - namespaces, cables, addresses, routes; switches of interfaces: [`bed`], [`namespace`],
//!   [`offload`]
//! - questions to the kernel by netlink, and its answers: [`netlink`]
//!
//! What it makes outside the process, and what removes it:
//!
//! - network namespace, with its cables: name: `cl-<pid>-<name>` in `/run/netns`; removed by its
//!   guard: [`Namespace`], [`Bed`]; after a crash: [`namespace::sweep_leftovers`]
//! - directory: name: `corelane-<pid>-<name>-…` in `/tmp`; removed by its guard:
//!   [`temporary::Directory`]; after a crash: [`temporary::sweep_leftovers`]
//! - child process: name: –; removed by its guard: [`process::Group`]; after a crash: the kernel,
//!   if [`process::end_with_thread`] asked it to
//! - settings of the machine, interrupt lines among them: name: `corelane-setting-<pid>-…` in
//!   `/run`; given back by its guard: [`settings::Setting`], [`interrupts::Interrupts`]; after a
//!   crash: a process that waits for it, else [`settings::sweep_leftovers`]
//! - core and rank of a thread: name: –; removed by its guard: [`Pinned`], [`Favoured`],
//!   [`RealTime`]; after a crash: they end with the thread
//!
//! Ctrl-C does not kill the process at once: after [`cleanup::on_signal`] it sets a flag that loops
//! poll with [`interrupted`], so that they return and the guards run. After a crash no guard runs;
//! therefore every name carries the id of the process that made it, and the next run removes what
//! belongs to dead ones.
//!
//! Linux only. Reading `/sys` and `/proc` never fails the caller where a default is honest: what is
//! not known is an empty string or `None`, never a guess. It cannot be used without the commands
//! `ip` (namespaces) and `sh` (threaded NAPI, settings).

pub mod bed;
pub mod card;
pub mod cleanup;
pub mod clock;
pub mod cores;
pub mod counting;
pub mod environment;
pub mod favour;
mod files;
pub mod interrupts;
mod link;
pub mod lookers;
pub mod loops;
pub mod namespace;
pub mod napi;
pub mod netlink;
mod network_error;
pub mod noise;
pub mod observe;
pub mod offload;
pub mod pace;
pub mod partition;
pub mod pin;
pub mod pressure;
pub mod process;
pub mod settings;
pub mod tasks;
pub mod temporary;
pub mod topology;

pub use bed::{Bed, Veth};
pub use cleanup::interrupted;
pub use cores::{CoreId, allowed_cores};
pub use environment::Environment;
pub use favour::{Favoured, RealTime};
pub use namespace::Namespace;
pub use noise::Noise;
pub use pin::Pinned;
pub use topology::Topology;
