//! Networks for the tests: every test thread gets a network namespace of its own, without a name,
//! which goes when the thread ends.

#![allow(dead_code, unreachable_pub)] // each test file includes it and uses its part

pub mod watch;

use std::process::Command;

/// Says why a test is skipped; true when it cannot run.
pub fn cannot_run() -> bool {
    !needs::root("for network namespaces and eBPF")
}

/// Runs a test body in a new network namespace with loopback up.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    if cannot_run() {
        return;
    }
    let outcome = std::thread::spawn(move || {
        enter_new_namespace();
        test();
    })
    .join();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// Moves the calling thread into a new network namespace.
pub fn enter_new_namespace() {
    // SAFETY: changes only this thread's namespace.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0);
    ip("link set lo up");
}

/// `ip ARGUMENTS` in the calling thread's namespace.
pub fn ip(arguments: &str) -> String {
    let output = Command::new("ip")
        .args(arguments.split_whitespace())
        .output()
        .expect("the ip command");
    assert!(
        output.status.success(),
        "ip {arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A veth pair with these names, both ends up, without addresses of its own making.
pub fn veth(one: &str, other: &str) {
    ip(&format!(
        "link add name {one} numrxqueues 2 numtxqueues 2 type veth peer name {other} numrxqueues \
         2 numtxqueues 2"
    ));
    for name in [one, other] {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
        ip(&format!("link set dev {name} up"));
    }
}

/// Ones' complement sum of 16-bit words: 0xffff for data with a right checksum in it.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Any command in the calling thread's namespace; its output.
pub fn run(command: &str) -> String {
    let mut words = command.split_whitespace();
    let output = Command::new(words.next().expect("a command"))
        .args(words)
        .output()
        .unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
