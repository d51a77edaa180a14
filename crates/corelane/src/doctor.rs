//! `corelane doctor`: what this machine allows, and what to change where it does not.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use fastpath::attach::{Attachment, Mode, Request};
use fastpath::forward::{Capacity, Forwarder, Lookup};
use host::namespace::{Namespace, Veth};
use report::Table;
use serde::Serialize;

use crate::common::Outcome;

/// Say what this machine can and cannot do, and what to change
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Finding {
    what: &'static str,
    state: String,
    advice: String,
}

#[derive(Serialize)]
struct Diagnosis {
    schema: &'static str,
    findings: Vec<Finding>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let findings = vec![
        rights(),
        cores(),
        kernel_table(),
        xdp_on_veth(),
        interfaces(),
        mounted(
            "tracefs",
            &[
                "/sys/kernel/tracing/trace_clock",
                "/sys/kernel/debug/tracing/trace_clock",
            ],
            "mount -t tracefs tracefs /sys/kernel/tracing (for corelane trace)",
        ),
        perf_events(),
        hardware_counters(),
        kvm(),
        cpuset(),
        forwarding(),
        jit(),
    ];
    if arguments.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&Diagnosis {
                schema: "corelane-doctor/1",
                findings
            })?
        );
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new("").text("what").text("state").text("what to do");
    for finding in findings {
        table.push([finding.what.to_owned(), finding.state, finding.advice]);
    }
    print!("{}", table.to_text());
    Ok(ExitCode::SUCCESS)
}

fn finding(what: &'static str, state: impl Into<String>, advice: &str) -> Finding {
    Finding {
        what,
        state: state.into(),
        advice: advice.to_owned(),
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

fn rights() -> Finding {
    let status = read("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = line
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    let names = router::privileges::KEPT;
    let missing: Vec<&str> = names
        .iter()
        .filter(|(bit, _)| held >> bit & 1 == 0)
        .map(|(_, name)| *name)
        .collect();
    if missing.is_empty() {
        finding("rights", "enough for corelane run", "")
    } else {
        finding(
            "rights",
            format!("missing {}", missing.join(", ")),
            "run as root, or by the systemd unit in dist/",
        )
    }
}

fn cores() -> Finding {
    let allowed = host::allowed_cores().map_or(1, |cores| cores.len());
    let advice = if allowed < 2 {
        "a second core is needed to see what a second core buys"
    } else {
        ""
    };
    finding("cores", format!("{allowed} allowed"), advice)
}

/// Loads the forwarding program with its mapped table: what the `xdp` engine needs from the kernel.
fn kernel_table() -> Finding {
    match Forwarder::new(Lookup::Own, Capacity::default()) {
        Ok(_) => finding("engine xdp", "the program and its mapped table load", ""),
        Err(error) => finding(
            "engine xdp",
            format!("{error}"),
            "root and Linux 6.1 or later; else --engine xdp-kernel-fib",
        ),
    }
}

/// Attaches to a veth of its own making: whether native XDP works at all here.
fn xdp_on_veth() -> Finding {
    let attempt = || -> Result<Mode, String> {
        let text = |error: host::namespace::Error| error.to_string();
        let inside = Namespace::new("doctor").map_err(text)?;
        let _pair = Veth::new((&inside, "d0"), (&inside, "d1"), 1).map_err(text)?;
        let mode = inside.enter(|| {
            let mut forwarder = Forwarder::new(Lookup::Kernel, Capacity::default())
                .map_err(|error| error.to_string())?;
            forwarder
                .attach("d0", Request::Any)
                .map(Attachment::mode)
                .map_err(|error| error.to_string())
        });
        mode.map_err(text)?
    };
    match attempt() {
        Ok(Mode::Native) => finding("XDP on veth", "native", ""),
        Ok(Mode::Generic) => finding(
            "XDP on veth",
            "generic only",
            "Linux 4.20 or later attaches natively",
        ),
        Err(error) => finding("XDP on veth", error, "run as root"),
    }
}

/// The drivers of the machine's interfaces, as far as they have one.
fn interfaces() -> Finding {
    let mut rows = Vec::new();
    for entry in fs::read_dir("/sys/class/net")
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let driver = fs::read_link(entry.path().join("device/driver")).ok();
        if let Some(driver) = driver.as_deref().and_then(Path::file_name) {
            let queues = fs::read_dir(entry.path().join("queues"))
                .into_iter()
                .flatten()
                .flatten();
            let receive = queues
                .filter(|queue| queue.file_name().to_string_lossy().starts_with("rx-"))
                .count();
            rows.push(format!(
                "{name}: {}, {receive} receive queues",
                driver.to_string_lossy()
            ));
        }
    }
    rows.sort();
    let state = if rows.is_empty() {
        "no hardware interface".to_owned()
    } else {
        rows.join("; ")
    };
    finding(
        "interfaces",
        state,
        "one receive queue per core: ethtool -L INTERFACE combined N",
    )
}

fn mounted(what: &'static str, paths: &[&str], advice: &str) -> Finding {
    if paths.iter().any(|path| Path::new(path).exists()) {
        finding(what, "mounted", "")
    } else {
        finding(what, "not mounted", advice)
    }
}

fn perf_events() -> Finding {
    match read("/proc/sys/kernel/perf_event_paranoid") {
        Some(level) => finding(
            "perf events",
            format!("paranoid level {level}"),
            "root is not limited by it",
        ),
        None => finding(
            "perf events",
            "not in this kernel",
            "corelane trace needs CONFIG_PERF_EVENTS",
        ),
    }
}

fn hardware_counters() -> Finding {
    if Path::new("/sys/bus/event_source/devices/cpu").exists() {
        finding("hardware counters", "there", "")
    } else {
        finding(
            "hardware counters",
            "none",
            "in a guest, ask for a virtual PMU; instruction counts come from callgrind",
        )
    }
}

fn kvm() -> Finding {
    if Path::new("/dev/kvm").exists() {
        finding("KVM", "/dev/kvm", "")
    } else {
        finding(
            "KVM",
            "none",
            "a second kernel can still run as User Mode Linux (corelane planes)",
        )
    }
}

fn cpuset() -> Finding {
    if read("/sys/fs/cgroup/cgroup.controllers").is_some_and(|list| list.contains("cpuset")) {
        finding("cpuset", "cgroup v2", "")
    } else if Path::new("/sys/fs/cgroup/cpuset").exists() {
        finding("cpuset", "cgroup v1", "")
    } else {
        finding("cpuset", "none", "cores are kept apart by affinity only")
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
    let advice = "sysctl net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1; what is off stays with the kernel";
    finding(
        "forwarding",
        format!("IPv4 {v4}, IPv6 {v6}"),
        if (v4, v6) == ("on", "on") { "" } else { advice },
    )
}

fn jit() -> Finding {
    match read("/proc/sys/net/core/bpf_jit_enable").as_deref() {
        Some("0") => finding("BPF compiler", "off", "sysctl net.core.bpf_jit_enable=1"),
        _ => finding("BPF compiler", "on", ""),
    }
}
