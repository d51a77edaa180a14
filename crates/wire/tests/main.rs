//! Every header against `etherparse`.

mod checksum;
mod ipv4;
mod ipv6;
mod partial;
