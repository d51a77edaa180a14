//! What more cores will forward, from what one does: the [`machine`]'s loops, an engine [`beside`]
//! readers, the [`formula`] that joins them, and what is [`shown`].
//!
//! The model knows three things that cores share: the clock and the core's units, the bandwidth of
//! memory, and the waiting that others' loads cause. It knows no lock, no line that two cores
//! write, and no queue: where an engine has these, it does less than predicted. The difference
//! between predicted and measured is therefore a finding, and is shown.

mod beside;
mod formula;
mod machine;
mod probe;
pub(crate) mod shown;

use std::time::Duration;

use dut::device::{Device, Setting};
use dut::error::Error;
use dut::kind::Kind;
use figures::{Estimate, Interval};
use host::Topology;
use host::pressure::Caches;
use report::units::Bytes;
use serde::{Deserialize, Serialize};

use crate::result::Study;
use crate::row::Key;
use beside::{Beside, Pace};
use formula::{Band, Inputs};
use machine::{Machine, Site};
use probe::Probe;

/// Part of a study's time for measuring.
pub(crate) const SHARE: f64 = 0.12;
/// Of that, the part for the machine.
const MACHINE_SHARE: f64 = 0.3;
/// An engine is left out when it would get less.
const ENGINE_LEAST: Duration = Duration::from_millis(500);
/// The engines of which a forecast is made, first those without which there is none. Those on
/// sockets have generators beside their workers, on the same cores.
const ENGINES: [&str; 5] = ["memory", "xdp", "kernel", "tc", "xdp-kernel-fib"];
/// A load that takes no more times longer than this beside readers does not tell a frame's waiting
/// apart.
const LOADED: f64 = 1.05;

/// The machine and a forecast for each engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Model {
    pub(crate) machine: Machine,
    pub(crate) forecasts: Vec<Forecast>,
}

/// What all cores forward, from what one does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Forecast {
    /// Engine, table and size, on all cores.
    #[serde(flatten)]
    pub(crate) key: Key,
    /// Rounds beside readers.
    pub(crate) rounds: usize,
    /// Frames a second on one core, as the study has them.
    pub(crate) one_core: f64,
    /// How many times longer a frame takes while the other cores read memory.
    pub(crate) slowed: Estimate,
    /// What a reading core keeps of its rate beside the forwarding one.
    pub(crate) reader_keeps: Estimate,
    /// Share of a frame's time that grows with the memory's load; the rest is the core's own.
    pub(crate) shared_part: Option<f64>,
    /// Memory traffic of a frame, in bytes read.
    pub(crate) bytes_per_frame: Option<Interval>,
    /// Times one core's frames on all cores.
    pub(crate) predicted: Option<Estimate>,
    /// The same as the study measured it.
    pub(crate) measured: Option<f64>,
    /// Beyond this machine's cores.
    pub(crate) bands: Vec<Band>,
}

/// Measures within about `time`; `None` with one core, and where memory is too short for the
/// buffer.
///
/// # Errors
/// When a device fails, a loop got no time, or the user interrupts.
pub(crate) fn take(
    devices: &mut [Box<dyn Device>],
    setting: &Setting,
    study: &Study,
    time: Duration,
    seed: u64,
) -> Result<Option<Model>, Error> {
    if setting.cores.len() < 2 {
        return Ok(None);
    }
    let caches = Caches::read(&Topology::read());
    enough_memory(caches)?;
    let probe = Probe::new(caches);
    let shipped = dut::memory::engine(None, setting)?;
    let site = Site {
        cores: &setting.cores,
        caches,
        probe: &probe,
        table: shipped.memory().used(),
    };
    drop(shipped);
    let machine = Machine::measure(&site, time.mul_f64(MACHINE_SHARE), seed)?;
    let rest = time.mul_f64(1.0 - MACHINE_SHARE);
    let wanted = wanted(study, rest);
    let each = rest / wanted.len().max(1) as u32;
    let mut forecasts = Vec::new();
    for key in wanted {
        let own = |kind: &Kind| kind.engine() == key.engine && kind.table() == key.table;
        let found = devices.iter_mut().find_map(|device| {
            let abilities = device.abilities();
            let kind = abilities.kinds.iter().copied().find(own)?;
            Some((device, kind, abilities.overhead))
        });
        let Some((device, kind, overhead)) = found else {
            continue;
        };
        let pace = Pace::within(each, overhead);
        let beside = Beside::measure(device.as_mut(), kind, &site, pace, seed)?;
        forecasts.extend(beside.and_then(|beside| Forecast::of(study, key, &machine, &beside)));
    }
    Ok(Some(Model { machine, forecasts }))
}

/// # Errors
/// When the machine has not twice the buffer free.
fn enough_memory(caches: Caches) -> Result<(), Error> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let wanted = 2 * caches.stream() as u64;
    match kilobytes.map(|kilobytes| Bytes(kilobytes << 10)) {
        Some(free) if free.0 < wanted => Err(format!(
            "it reads a buffer larger than the last-level cache and wants {} free, not {free}; \
             end what else uses memory",
            Bytes(wanted)
        )
        .into()),
        _ => Ok(()),
    }
}

/// The cases of which a forecast is made: the engines' on all cores, as many as `time` is enough
/// for, at least the first.
fn wanted(study: &Study, time: Duration) -> Vec<Key> {
    let row = |engine| study.smallest(engine, study.best_table(engine)?, study.cores);
    let rows = ENGINES.into_iter().filter_map(row);
    let most = time.as_secs_f64() / ENGINE_LEAST.as_secs_f64();
    let keys = rows.map(|row| row.key.clone());
    keys.take((most as usize).max(1)).collect()
}

impl Forecast {
    /// `None` where one core has no rate, or no evidence for it.
    fn of(study: &Study, key: Key, machine: &Machine, beside: &Beside) -> Option<Self> {
        let one = study.smallest(&key.engine, key.table, 1)?;
        let one_core = one.frames_per_second.0;
        (one_core > 0.0 && one.weak.is_none()).then_some(())?;
        let inputs = Inputs {
            cores: machine.cores,
            computing: machine.computing,
            slowed: beside.slowed,
            reader: machine.reader_keeps,
            beside: beside.reader,
            crowded: machine.crowded(),
        };
        let reader = machine.read_one.value * machine.crowded();
        let bytes = |traffic: f64| traffic * reader / one_core;
        let all = study.smallest(&key.engine, key.table, machine.cores);
        Some(Self {
            rounds: beside.rounds,
            one_core,
            slowed: beside.slowed,
            reader_keeps: beside.reader,
            shared_part: shared_part(machine, beside),
            bytes_per_frame: inputs.traffic().map(|traffic| {
                let Interval { low, high } = traffic.interval;
                Interval::new(bytes(low), bytes(high))
            }),
            predicted: inputs.speed_up(),
            measured: all.and_then(|row| study.speed_up(row)),
            bands: inputs.bands(),
            key,
        })
    }

    /// Predicted over measured, less one.
    pub(crate) fn difference(&self) -> Option<f64> {
        Some(self.predicted?.value / self.measured? - 1.0)
    }
}

/// The share of a frame's time that waits for what cores share: what readers add to it, over what
/// they add to a load from the table's size.
fn shared_part(machine: &Machine, beside: &Beside) -> Option<f64> {
    let loaded = machine.table_loaded;
    let added = (beside.slowed.value / machine.computing.value - 1.0).max(0.0);
    (loaded.interval.low > LOADED).then(|| (added / (loaded.value - 1.0)).min(1.0))
}

#[cfg(test)]
#[path = "../../tests/unit/model/mod.rs"]
mod tests;
