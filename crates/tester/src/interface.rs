//! Where a veth's work is done: in the breath of whoever sends into it, or in a thread of its own.

use std::{fs, mem};

use host::{CoreId, Namespace};

/// Moves the receive path of an interface into kernel threads of its own, and those to one core,
/// where ordinary work does not keep them waiting ([`host::favour`]): a thread that loses its core
/// for a tick of the scheduler, 4 ms, overflows a veth's ring of 256 frames from 64 000 frames/s
/// on. Returns the threads: none where the kernel has no threaded NAPI, and then the sender's core
/// does the work.
///
/// The name of the interface must be unique on the machine: the threads are found by it.
pub fn receive_on(namespace: &Namespace, interface: &str, core: CoreId) -> Vec<libc::pid_t> {
    // A thread that has joined a namespace still sees the interfaces of the old one in /sys; `ip
    // netns exec` mounts it anew.
    let switch = format!("echo 1 > /sys/class/net/{interface}/threaded");
    let switched = namespace.command("sh").args(["-c", &switch]).output();
    if !switched.is_ok_and(|output| output.status.success()) {
        return Vec::new();
    }
    let prefix = format!("napi/{interface}-");
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<libc::pid_t>().ok())
        .filter(|pid| {
            fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with(&prefix))
        })
        .filter(|&pid| pin(pid, core))
        .inspect(|&pid| {
            // Where the kernel refuses, the thread is as any other: the trials' noise tells what
            // came of it.
            let _ = host::favour::favour(pid);
        })
        .collect()
}

fn pin(pid: libc::pid_t, core: CoreId) -> bool {
    // SAFETY: a CPU set is plain data for which all zeros are the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    let index = core.0 as usize;
    if index >= libc::CPU_SETSIZE as usize {
        return false;
    }
    // SAFETY: the index is below the set's size.
    unsafe { libc::CPU_SET(index, &mut set) };
    // SAFETY: the set outlives the call, which reads as many bytes as it is told.
    unsafe { libc::sched_setaffinity(pid, mem::size_of::<libc::cpu_set_t>(), &raw const set) == 0 }
}
