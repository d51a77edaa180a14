//! Counts what devices do not take of the frames that the program has redirected to them
//! ([`Reason::EgressRefused`](super::Reason)).
//!
//! The kernel drops such frames after the program has ended, and says so at two tracepoints. The
//! programs there run once for a burst. They need the kernel's type information to find out whose
//! device it was; without it, such frames count as forwarded.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use bpf::btf::Btf;
use bpf::map::Map;
use bpf::program::Loader;

use super::shared;
use super::tracepoints::AtTracepoints;
use crate::Result;
use crate::packed::{Packed, packed};

const OBJECT: Packed = packed!("refused");
/// Tracepoints with the programs for them, and how many arguments these expect.
const TRACEPOINTS: [(&str, &str, usize); 2] = [
    ("xdp_devmap_xmit", "refused", 5),
    ("xdp_redirect_err", "not_queued", 7),
];

/// Attaches the programs for these maps and the calling thread's network namespace; `None` when this
/// kernel does not describe itself.
pub(super) fn watch(
    types: Option<&Btf>,
    maps: &HashMap<&'static str, Map>,
) -> Result<Option<AtTracepoints>> {
    let Some(loader) = loader(types)? else {
        return Ok(None);
    };
    let loaded = shared(loader, maps).load()?;
    let programs = TRACEPOINTS
        .into_iter()
        .map(|(tracepoint, program, _)| Ok((tracepoint, loaded.program(program)?)));
    let programs = programs.collect::<Result<_>>()?;
    AtTracepoints::attach(programs).map(Some)
}

fn loader(types: Option<&Btf>) -> Result<Option<Loader>> {
    let namespace = std::fs::metadata("/proc/thread-self/ns/net");
    let (Some(types), Ok(namespace)) = (types, namespace) else {
        return Ok(None);
    };
    let expected = |(name, _, count): (&str, &str, usize)| {
        let found = types.tracepoint(name);
        found.is_some_and(|(_, arguments)| arguments == count)
    };
    let offset = |structure, path: &[&str]| types.offset(structure, path);
    let (Some(ifindex), Some(net), Some(number), true) = (
        offset("net_device", &["ifindex"]),
        offset("net_device", &["nd_net", "net"]),
        offset("net", &["ns", "inum"]),
        TRACEPOINTS.into_iter().all(expected),
    ) else {
        return Ok(None);
    };
    let place = |offset: i16| u64::from(offset.unsigned_abs());
    let loader = OBJECT
        .loader()?
        .constant("NAMESPACE", namespace.ino())
        .constant("IFINDEX", place(ifindex))
        .constant("NET", place(net))
        .constant("NUMBER", place(number));
    Ok(Some(loader))
}
