//! What the machine and its ports are like: plain values, and where they are read.

use std::path::Path;
use std::{fs, io};

use host::card::{self, Coalescing, Queues, Rings, Spreading};
use host::cores::parse_list;
use host::{CoreId, Environment, Topology, interrupts, namespace, offload, tasks};

use crate::access::{Access, System, count};
use crate::record::TuneError;
use crate::setting::Setting;

/// Where a port's frames enter Corelane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// In the driver.
    Xdp,
    /// Behind the kernel's receiving.
    Tc,
    /// In user space, behind `AF_XDP` sockets.
    XdpSockets,
    /// In user space, behind packet sockets.
    PacketSockets,
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The cores that are to forward.
    pub cores: Vec<CoreId>,
    /// All cores.
    pub online: Vec<CoreId>,
    /// The memory node of each core that has one.
    pub nodes: Vec<(CoreId, u32)>,
    /// What the kernel was started with.
    pub command_line: String,
    /// Measures against flaws of the processor are on.
    pub mitigated: bool,
    /// irqbalance runs.
    pub balanced: bool,
}

/// An interrupt line of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub line: u32,
    /// The queue that it belongs to.
    pub queue: u32,
    /// Its cores, as a list.
    pub cores: String,
}

/// A port. What a driver does not say is `None` or empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Where its frames enter.
    pub entry: Entry,
    /// A device is behind it, not software alone.
    pub has_device: bool,
    /// The memory node that the device is at.
    pub node: Option<u32>,
    /// Now, and the most.
    pub queues: Option<(Queues, Queues)>,
    /// Now, and the most.
    pub rings: Option<(Rings, Rings)>,
    /// Of receiving.
    pub coalescing: Option<Coalescing>,
    /// How it spreads frames over queues.
    pub spreading: Option<Spreading>,
    /// The card joins segments.
    pub lro: bool,
    /// The kernel joins segments.
    pub gro: bool,
    /// Has NAPI threads.
    pub threads: Option<String>,
    /// The lines of its queues.
    pub interrupts: Vec<Interrupt>,
    /// Cores of each send queue, as lists.
    pub send_cores: Vec<String>,
    /// Cores to which the frames of each receive queue are handed, as lists.
    pub steer_cores: Vec<String>,
    /// Frames that wait for the device.
    pub send_queue_length: Option<u32>,
}

impl Machine {
    /// Reads this one's; forwarding is on `cores`.
    pub fn read(cores: Vec<CoreId>) -> Self {
        let topology = Topology::read();
        let environment = Environment::read("", 0);
        Self {
            cores,
            online: topology.cores.iter().map(|core| core.id).collect(),
            nodes: topology
                .cores
                .iter()
                .filter_map(|core| Some((core.id, core.node?)))
                .collect(),
            command_line: environment.kernel_command_line,
            mitigated: !environment.mitigations.is_empty(),
            balanced: tasks::runs("irqbalance"),
        }
    }
}

impl Port {
    /// Reads those of an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// When there is none of that name, or `/sys` shows another namespace.
    pub fn read(name: &str, entry: Entry) -> Result<Self, TuneError> {
        let index = namespace::index_of(name).map_err(|source| TuneError::NoPort {
            port: name.to_owned(),
            source,
        })?;
        let place = Path::new("/sys/class/net").join(name);
        let shown = |file| fs::read_to_string(place.join(file)).ok();
        let number = |file| shown(file)?.trim().parse::<u32>().ok();
        if number("ifindex") != Some(index) {
            return Err(TuneError::Elsewhere {
                port: name.to_owned(),
            });
        }
        let value = |setting| System.read(name, setting).ok();
        let lists = |kind, setting: fn(u32) -> Setting| {
            let queues = 0..count(name, kind);
            queues.filter_map(|queue| value(setting(queue))).collect()
        };
        Ok(Self {
            name: name.to_owned(),
            entry,
            has_device: place.join("device").exists(),
            node: number("device/numa_node"),
            queues: card::queues(name).ok(),
            rings: card::rings(name).ok(),
            coalescing: card::coalescing(name).ok(),
            spreading: card::spreading(name).ok(),
            lro: offload::receiving(name).is_ok_and(|on| on.joins_segments),
            gro: offload::is_on(name, offload::Offload::GenericReceive).unwrap_or(false),
            threads: value(Setting::NapiThreads),
            interrupts: lines(name),
            send_cores: lists("tx-", Setting::SendCores),
            steer_cores: lists("rx-", Setting::SteerCores),
            send_queue_length: number("tx_queue_len"),
        })
    }
}

/// The interrupt lines of queues.
fn lines(port: &str) -> Vec<Interrupt> {
    let lines = interrupts::lines_of(port).into_iter();
    let lines = lines.filter_map(|(line, name)| {
        let cores = System.read(port, Setting::InterruptCores(line)).ok()?;
        Some(Interrupt {
            line,
            queue: queue_of(&name)?,
            cores,
        })
    });
    lines.collect()
}

/// The queue in a driver's name for a line: `eth0-TxRx-3`, `virtio0-input.3`,
/// `mlx5_comp3@pci:0000:01:00.0`; none for lines of the card as a whole.
fn queue_of(name: &str) -> Option<u32> {
    let name = name.split('@').next().unwrap_or_default();
    let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let whole = [
        "async", "config", "control", "cmd", "mgmt", "misc", "fdir", "event",
    ];
    if whole.iter().any(|word| stem.contains(word)) || !stem.contains(['-', '_']) {
        return None;
    }
    name.get(stem.len()..)?.parse().ok()
}

/// The cores that are to forward: those of `list`, else all that this process may use.
///
/// # Errors
/// When the list cannot be read, is empty, or names a core that this process may not use.
pub fn forwarding_cores(list: Option<&str>) -> Result<Vec<CoreId>, String> {
    let allowed = host::allowed_cores().map_err(|error: io::Error| error.to_string())?;
    let Some(list) = list else {
        return Ok(allowed);
    };
    let cores = parse_list(list)?;
    match cores.iter().find(|core| !allowed.contains(core)) {
        Some(core) => Err(format!(
            "core {core} is not among those that may be used; choose from {}",
            host::cores::write_list(&allowed)
        )),
        None if cores.is_empty() => Err("--cores names no core; write them as 0-3,8".to_owned()),
        None => Ok(cores),
    }
}

#[cfg(test)]
#[path = "../tests/unit/facts.rs"]
mod tests;
