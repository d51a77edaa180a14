//! What the kernel lets us do: rights, programs, tables, forwarding.

use bpf::attach::{Attachment, Mode, Request};
use fastpath::forward::{Capacity, Forwarder, Lookup};
use host::bed::{Bed, side};

use super::{Finding, read};

pub(super) fn look() -> Vec<Finding> {
    vec![
        rights(),
        engine(
            "engine xdp",
            Lookup::Own,
            "Linux 6.1 or later as root; else --engine xdp-kernel-fib",
        ),
        engine(
            "engine xdp-kernel-fib",
            Lookup::Kernel,
            "Linux 6.1 or later as root",
        ),
        xdp_on_veth(),
        af_xdp(),
        jit(),
        forwarding(),
    ]
}

fn rights() -> Finding {
    let status = read("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = line
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    let missing: Vec<&str> = router::privileges::KEPT
        .iter()
        .filter(|(bit, _)| held >> bit & 1 == 0)
        .map(|(_, name)| *name)
        .collect();
    if missing.is_empty() {
        Finding::good("rights", "enough for corelane run")
    } else {
        let state = format!("missing {}", missing.join(", "));
        let remedy = "run as root, or by the systemd unit in dist/";
        Finding::missing("rights", state, remedy)
    }
}

/// Loads the forwarding program: what an engine needs from the kernel.
fn engine(what: &str, lookup: Lookup, remedy: &str) -> Finding {
    match Forwarder::new(lookup, Capacity::default()) {
        Ok(_) => Finding::good(what, "the verifier takes the program and its maps"),
        // The verifier's explanation may be long; its first line names the cause.
        Err(error) => {
            let text = error.to_string();
            Finding::missing(what, text.lines().next().unwrap_or_default(), remedy)
        }
    }
}

/// Attaches to a veth of its own making: whether native XDP works at all here.
fn xdp_on_veth() -> Finding {
    let attempt = || -> Result<Mode, String> {
        let text = |error: host::namespace::Error| error.to_string();
        let plan = Bed::plan().cable(side("doctor", "d0"), side("doctor", "d1"));
        let bed = plan.lay().map_err(text)?;
        let mode = bed.namespace("doctor").map_err(text)?.enter(|| {
            let mut forwarder = Forwarder::new(Lookup::Kernel, Capacity::default())
                .map_err(|error| error.to_string())?;
            forwarder
                .attach("d0", Request::Any)
                .map(Attachment::mode)
                .map_err(|error| error.to_string())
        });
        mode.map_err(text)?
    };
    let what = "XDP on veth";
    match attempt() {
        Ok(Mode::Native) => Finding::good(what, "native"),
        Ok(_) => Finding::limited(what, "generic", "Linux 4.20 or later for native"),
        Err(error) => Finding::missing(what, error, "run as root"),
    }
}

fn af_xdp() -> Finding {
    let what = "AF_XDP";
    // Present exactly when the kernel has the socket family.
    if std::path::Path::new("/proc/net/xdp").exists()
        || read("/proc/net/protocols")
            .is_some_and(|list| list.lines().any(|line| line.starts_with("XDP")))
    {
        Finding::good(what, "the kernel has it; --port tries a card")
    } else {
        Finding::missing(
            what,
            "not in this kernel",
            "CONFIG_XDP_SOCKETS; the engine xdp does not need it",
        )
    }
}

fn jit() -> Finding {
    match read("/proc/sys/net/core/bpf_jit_enable").as_deref() {
        Some("0") => Finding::limited(
            "BPF compiler",
            "off: programs are interpreted",
            "sysctl net.core.bpf_jit_enable=1",
        ),
        _ => Finding::good("BPF compiler", "on"),
    }
}

fn forwarding() -> Finding {
    let on = |path: &str| {
        if read(path).as_deref() == Some("1") {
            "on"
        } else {
            "off"
        }
    };
    let v4 = on("/proc/sys/net/ipv4/ip_forward");
    let v6 = on("/proc/sys/net/ipv6/conf/all/forwarding");
    let state = format!("IPv4 {v4}, IPv6 {v6}");
    if (v4, v6) == ("on", "on") {
        return Finding::good("forwarding", state);
    }
    let remedy = "sysctl net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; a family that is \
                  off stays with the kernel";
    Finding::limited("forwarding", state, remedy)
}
