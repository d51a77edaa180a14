//! Where an interface's work is done: as a softirq in the breath of whoever caused it, or in
//! threads of its own (threaded NAPI).

use std::collections::BTreeSet;
use std::io;
use std::process::Stdio;

use crate::favour::{Rank, rank};
use crate::tasks::{self, TaskError, bind, refused};
use crate::{CoreId, Namespace};

/// The threads of the interfaces of this name, in all namespaces: `napi/u0-1234`.
pub fn threads(interface: &str) -> BTreeSet<u32> {
    tasks::named(&format!("napi/{interface}-"))
}

/// Gives an interface threads of its own, or takes them from it.
///
/// # Errors
/// When there is no such interface, or the kernel has no threaded NAPI.
pub fn set_threaded(namespace: &Namespace, interface: &str, on: bool) -> Result<(), TaskError> {
    // A thread that has joined a namespace still sees the interfaces of the old one in /sys; `ip
    // netns exec` mounts it anew.
    let switch = format!(
        "echo {} > /sys/class/net/{interface}/threaded",
        u8::from(on)
    );
    let mut shell = namespace.command("sh");
    let state = if on { "on" } else { "off" };
    let doing = format!("switch threaded NAPI of {interface} {state}");
    shell.args(["-c", &switch]).stdin(Stdio::null());
    let status = shell.stderr(Stdio::null()).status();
    match status.map_err(refused(&doing))? {
        status if status.success() => Ok(()),
        status => Err(refused(&doing)(io::Error::other(status.to_string()))),
    }
}

/// Gives an interface threads of its own on `core`, with `rank` there: as an ordinary thread one
/// waits for its core for milliseconds, while the 256 places of a veth fill. Returns the threads.
///
/// With `unique`, which says that no other interface on the machine has its name, also threads that
/// were there before are taken for its own.
///
/// # Errors
/// As [`set_threaded`], or when the kernel refuses the core or the rank.
pub fn to_core(
    namespace: &Namespace,
    interface: &str,
    core: CoreId,
    standing: Rank,
    unique: bool,
) -> Result<Vec<u32>, TaskError> {
    let before = if unique {
        BTreeSet::new()
    } else {
        threads(interface)
    };
    set_threaded(namespace, interface, true)?;
    let own: Vec<u32> = threads(interface).difference(&before).copied().collect();
    for &thread in &own {
        bind(thread, &[core])?;
        rank(thread, standing).map_err(refused("give a NAPI thread its rank"))?;
    }
    Ok(own)
}
