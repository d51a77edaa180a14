//! What the machine offers beside the network: cores, priorities, tracing, guests.

use std::fs::{self, OpenOptions};
use std::path::Path;

use super::{Finding, read};

pub(super) fn look() -> Vec<Finding> {
    vec![
        interfaces(),
        cores(),
        cpuset(),
        real_time(),
        huge_pages(),
        tracepoints(),
        perf_events(),
        hardware_counters(),
        kvm(),
        user_mode_linux(),
    ]
}

/// The drivers of the machine's interfaces, as far as they have one.
fn interfaces() -> Finding {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten();
    let mut rows: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let driver = super::port::driver(&name)?;
            Some(format!("{name} ({driver})"))
        })
        .collect();
    rows.sort();
    let what = "interfaces";
    if rows.is_empty() {
        Finding::limited(
            what,
            "no hardware interface",
            "virtual ones work too: --port NAME tries any",
        )
    } else {
        Finding::good(what, format!("{}; --port NAME tries one", rows.join(", ")))
    }
}

fn cores() -> Finding {
    let allowed = host::allowed_cores().map_or(1, |cores| cores.len());
    let state = format!("{allowed} allowed");
    if allowed < 2 {
        let remedy = "a second core is needed to see what a second core buys";
        Finding::limited("cores", state, remedy)
    } else {
        Finding::good("cores", state)
    }
}

fn cpuset() -> Finding {
    let what = "cpuset";
    if read("/sys/fs/cgroup/cgroup.controllers")
        .is_some_and(|list| list.split_whitespace().any(|name| name == "cpuset"))
    {
        return Finding::good(what, "cgroup v2");
    }
    if Path::new("/sys/fs/cgroup/cpuset").exists() {
        return Finding::good(what, "cgroup v1");
    }
    let remedy = "cores are kept apart by affinity only; mount -t cgroup2 cgroup2 /sys/fs/cgroup";
    Finding::limited(what, "none", remedy)
}

fn real_time() -> Finding {
    let what = "real-time priority";
    let share = read("/proc/sys/kernel/sched_rt_runtime_us")
        .and_then(|text| text.parse::<i64>().ok())
        .map_or_else(String::new, |microseconds| {
            if microseconds < 0 {
                ", of the whole of each second".to_owned()
            } else {
                format!(", {} % of each second", microseconds / 10_000)
            }
        });
    match host::RealTime::first_in_first_out(1) {
        Ok(_) => Finding::good(what, format!("given{share}")),
        Err(error) => Finding::limited(
            what,
            error.to_string(),
            "run as root or with CAP_SYS_NICE, or raise ulimit -r (for measurements only)",
        ),
    }
}

fn huge_pages() -> Finding {
    let what = "huge pages";
    let memory = read("/proc/meminfo").unwrap_or_default();
    let total = memory
        .lines()
        .find_map(|line| line.strip_prefix("HugePages_Total:"))
        .and_then(|count| count.trim().parse::<u64>().ok())
        .unwrap_or(0);
    let transparent = read("/sys/kernel/mm/transparent_hugepage/enabled");
    let on_request = transparent.is_some_and(|text| !text.contains("[never]"));
    let state = match (total, on_request) {
        (0, true) => "transparent ones".to_owned(),
        (0, false) => "none".to_owned(),
        (count, _) => format!("{count} reserved"),
    };
    if total > 0 || on_request {
        return Finding::good(what, state);
    }
    let remedy = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or sysctl \
                  vm.nr_hugepages=64 (for comparisons with DPDK)";
    Finding::limited(what, state, remedy)
}

fn tracepoints() -> Finding {
    let what = "tracepoints";
    let places = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let mut readable = places
        .iter()
        .filter(|place| read(&format!("{place}/events/sched/sched_switch/id")).is_some());
    match readable.next() {
        Some(place) => Finding::good(what, format!("tracefs at {place}")),
        None => Finding::missing(
            what,
            "tracefs is not mounted or not readable",
            "mount -t tracefs tracefs /sys/kernel/tracing, as root (for corelane trace)",
        ),
    }
}

fn perf_events() -> Finding {
    match read("/proc/sys/kernel/perf_event_paranoid") {
        Some(level) => Finding::good(
            "perf events",
            format!("paranoid level {level}; root is not limited by it"),
        ),
        None => Finding::missing(
            "perf events",
            "not in this kernel",
            "corelane trace needs CONFIG_PERF_EVENTS",
        ),
    }
}

fn hardware_counters() -> Finding {
    if Path::new("/sys/bus/event_source/devices/cpu").exists() {
        return Finding::good("hardware counters", "there");
    }
    let remedy = "in a guest, ask for a virtual PMU; instruction counts come from callgrind";
    Finding::limited("hardware counters", "none", remedy)
}

fn kvm() -> Finding {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/kvm");
    match opened {
        Ok(_) => Finding::good("KVM", "/dev/kvm opens"),
        Err(error) => Finding::limited(
            "KVM",
            format!("/dev/kvm: {error}"),
            "a second kernel can still run as User Mode Linux",
        ),
    }
}

fn user_mode_linux() -> Finding {
    if Path::new("/usr/bin/linux.uml").exists() {
        return Finding::good("User Mode Linux", "/usr/bin/linux.uml");
    }
    let remedy = "apt-get install user-mode-linux (for corelane planes without KVM)";
    Finding::limited("User Mode Linux", "none", remedy)
}
