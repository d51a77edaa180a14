//! The router end to end: the `corelane` binary between hosts in namespaces, with this machine's
//! kernel, iperf3, traceroute, FRR and BIRD. Needs root; what needs a program that is not installed
//! says so and passes.

mod answers;
mod asking;
mod bursts;
mod captured;
mod captures;
mod changes;
#[path = "../../../router/tests/held.rs"]
mod held;
mod lab;
#[path = "../../../fastpath/tests/common/watch.rs"]
mod watch;

mod checksums;
mod console;
mod contract;
mod cores;
mod devices;
mod discovery;
mod document;
mod drain;
mod egress;
mod engines;
mod expiring;
mod explained;
mod faults;
mod floods;
mod flows;
mod forwarding;
mod frames;
mod guest;
mod health;
mod internet;
mod jumbo;
mod kernels;
mod learned;
mod lifecycle;
mod limits;
mod lines;
mod mtu;
mod open_metrics;
mod package;
mod played;
mod policy;
mod protocols;
mod raw;
mod recorded;
mod roads;
mod sampled;
mod seeded;
mod segments;
mod service;
mod settings;
mod settled;
mod sflow;
mod sizes;
mod soak;
mod storms;
mod sums;
mod systemd;
mod tables;
mod tags;
mod take_over;
mod take_overs;
mod toggles;
mod twins;
mod watching;
mod ways;
