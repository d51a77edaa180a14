//! The environment a result holds in: without it a figure says nothing about another machine.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::cores::allowed_cores;
use crate::files::{self, trimmed_or_empty as read};
use crate::topology::Topology;

/// Facts about machine and run; part of every result. What is not known is an empty string.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// The machine's name.
    pub host: String,
    /// Kernel name, release and build.
    pub kernel: String,
    /// The distribution's name for itself.
    pub system: String,
    /// Processor model.
    pub cpu: String,
    /// Logical cores online.
    pub cores_online: usize,
    /// Logical cores that this process may use.
    pub cores_allowed: usize,
    /// Physical cores among the allowed ones.
    pub cores_physical: usize,
    /// Data caches of the first core: `L1 32 KiB, L2 1 MiB, L3 36 MiB (2 cores)`.
    pub caches: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// What runs below us: a hypervisor's or container's name, `none`, or empty where it cannot be
    /// told.
    pub virtualisation: String,
    /// Frequency governor of the first core.
    pub governor: String,
    /// The kernel's clock source.
    pub clock: String,
    /// Processor flaws that the kernel mitigates, `name: measure`, in alphabetical order;
    /// unaffected ones are left out.
    pub mitigations: Vec<String>,
    /// The kernel's own command line.
    pub kernel_command_line: String,
    /// Versions of the programs and kernel interfaces that took part, `name version`.
    pub versions: Vec<String>,
    /// Whether the run had root's rights.
    pub root: bool,
    /// Seed of everything random.
    pub seed: u64,
    /// The command that made the result.
    pub command: Vec<String>,
    /// When it was made: seconds since 1970.
    pub time: u64,
}

impl Environment {
    /// Reads this machine's, for a run with `seed`. `version` is the version of the program that
    /// asks.
    pub fn read(version: &str, seed: u64) -> Self {
        let topology = Topology::read();
        let allowed = allowed_cores().unwrap_or_default();
        let mut command: Vec<String> = std::env::args().collect();
        if let Some(program) = command.first_mut() {
            // The name without its directory: the same on every machine.
            *program = program.rsplit('/').next().unwrap_or_default().to_owned();
        }
        Self {
            host: read("/proc/sys/kernel/hostname"),
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease")),
            system: value_of(&read("/etc/os-release"), "PRETTY_NAME=")
                .trim_matches('"')
                .to_owned(),
            cpu: cpu_model(&read("/proc/cpuinfo")),
            cores_online: topology.cores.len(),
            cores_allowed: allowed.len(),
            cores_physical: topology.physical_count(&allowed),
            caches: caches(&topology),
            memory_bytes: memory(&read("/proc/meminfo")),
            virtualisation: virtualisation(),
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            clock: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            mitigations: mitigations(),
            kernel_command_line: read("/proc/cmdline"),
            versions: vec![format!("corelane {version}")],
            root: crate::process::is_root(),
            seed,
            command,
            time: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |elapsed| elapsed.as_secs()),
        }
    }

    /// Name and value of each fact in reading order, for a report. Unknown facts are left out.
    pub fn facts(&self) -> Vec<(String, String)> {
        const MIB: u64 = 1 << 20;
        let cores = format!(
            "{} online, {} allowed, {} physical among them",
            self.cores_online, self.cores_allowed, self.cores_physical
        );
        let facts = [
            ("host", self.host.clone()),
            ("system", self.system.clone()),
            ("kernel", self.kernel.clone()),
            ("processor", self.cpu.clone()),
            ("cores", cores),
            ("caches", self.caches.clone()),
            ("memory", format!("{} MiB", self.memory_bytes / MIB)),
            ("virtualisation", self.virtualisation.clone()),
            ("governor", self.governor.clone()),
            ("clock", self.clock.clone()),
            ("mitigations", self.mitigations.join("; ")),
            ("kernel command line", self.kernel_command_line.clone()),
            ("versions", self.versions.join(", ")),
            (
                "rights",
                if self.root { "root" } else { "ordinary user" }.to_owned(),
            ),
            ("seed", self.seed.to_string()),
            ("command", self.command.join(" ")),
            ("time", utc(self.time)),
        ];
        facts
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// The machine in one line: processor, cores, virtualisation, kernel.
    pub fn machine(&self) -> String {
        let below = match self.virtualisation.as_str() {
            "" | "none" => String::new(),
            name => format!(" under {name}"),
        };
        let plural = if self.cores_online == 1 { "" } else { "s" };
        format!(
            "{}, {} core{plural}{below}, {}",
            self.cpu, self.cores_online, self.kernel
        )
    }
}

/// `2026-11-21 03:14 UTC` from seconds since 1970, by the proleptic Gregorian calendar.
pub fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years counted from March: the leap day is then the last day of a year (Hinnant,
    // "chrono-compatible low-level date algorithms").
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02} UTC",
        rest / 3_600,
        rest % 3_600 / 60
    )
}

fn value_of<'a>(text: &'a str, key: &str) -> &'a str {
    text.lines()
        .find_map(|line| line.strip_prefix(key))
        .unwrap_or_default()
        .trim()
}

fn cpu_model(cpuinfo: &str) -> String {
    // x86 says "model name"; others name the processor under "Processor" or "cpu model", or only by
    // numbers.
    ["model name", "Processor", "cpu model"]
        .iter()
        .map(|key| value_of(cpuinfo, key).trim_start_matches([' ', '\t', ':']))
        .find(|model| !model.is_empty())
        .unwrap_or(std::env::consts::ARCH)
        .to_owned()
}

fn memory(meminfo: &str) -> u64 {
    value_of(meminfo, "MemTotal:")
        .trim_end_matches(" kB")
        .trim()
        .parse::<u64>()
        .unwrap_or(0)
        << 10
}

fn caches(topology: &Topology) -> String {
    let Some(core) = topology.cores.first() else {
        return String::new();
    };
    let data = core
        .caches
        .iter()
        .filter(|cache| cache.kind != "Instruction");
    let words = data.map(|cache| {
        let size = match cache.bytes {
            0..0x10_0000 => format!("{} KiB", cache.bytes >> 10),
            _ => format!("{} MiB", cache.bytes >> 20),
        };
        let shared = match cache.shared_by.len() {
            0 | 1 => String::new(),
            cores => format!(" ({cores} cores)"),
        };
        format!("L{} {size}{shared}", cache.level)
    });
    words.collect::<Vec<_>>().join(", ")
}

fn virtualisation() -> String {
    let marks = ["/.dockerenv", "/run/.containerenv"];
    if marks.iter().any(|mark| Path::new(mark).exists()) {
        return "a container".to_owned();
    }
    let xen = read("/sys/hypervisor/type");
    if !xen.is_empty() {
        return xen;
    }
    let cpuinfo = read("/proc/cpuinfo");
    let flags = value_of(&cpuinfo, "flags");
    if flags.is_empty() {
        return String::new();
    }
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return "none".to_owned();
    }
    match read("/sys/class/dmi/id/product_name").as_str() {
        "" => "a hypervisor".to_owned(),
        product => format!("a hypervisor ({product})"),
    }
}

fn mitigations() -> Vec<String> {
    let mut found: Vec<String> = files::entries("/sys/devices/system/cpu/vulnerabilities")
        .filter_map(|(name, path)| {
            let state = files::trimmed(path).ok()?;
            (state != "Not affected")
                .then(|| format!("{name}: {}", state.trim_start_matches("Mitigation: ")))
        })
        .collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
#[path = "../tests/unit/environment.rs"]
mod tests;
