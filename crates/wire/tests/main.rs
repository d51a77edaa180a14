//! Every header against `etherparse`.

mod ipv4;
mod ipv6;
