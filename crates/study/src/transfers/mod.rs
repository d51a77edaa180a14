//! Transfers between two hosts: what programs get through a device, with TCP, UDP in segments and a
//! mix of datagrams, beside Linux alone.
//!
//! [`plan`] says what is transferred, [`measure`] does it, [`Row`]s are what is kept, [`shown`]
//! makes tables and sentences of them, and [`bounds`] says what they must hold.

mod bounds;
pub(crate) mod measure;
pub(crate) mod plan;
pub(crate) mod shown;

use dut::between_hosts::Sample;
use figures::{Estimate, Rounds};
use host::noise::NOISY_STEAL;
use serde::{Deserialize, Serialize};

use self::plan::Case;

/// The device that others are compared with.
pub(crate) const LINUX: &str = "kernel";

/// What was transferred and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Transfers {
    /// Interleaved rounds behind each row that does not say more.
    pub(crate) rounds: usize,
    /// Length of one transfer without its warm-up, milliseconds.
    pub(crate) trial_milliseconds: f64,
    /// Cases in their order, devices of a case side by side.
    pub(crate) rows: Vec<Row>,
    /// What was not measured, and why.
    pub(crate) left_out: Vec<String>,
}

/// What is sent, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Load {
    /// TCP.
    Tcp,
    /// UDP that the hosts' kernels cut into segments and join again.
    UdpSegments,
    /// UDP of the tester's mix of frame sizes.
    Imix,
}

/// A device with a case: medians of the rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Row {
    pub(crate) engine: String,
    #[serde(flatten)]
    pub(crate) key: Case,
    /// Payload that arrived; 0 when the transfer failed.
    pub(crate) payload_bits_per_second: f64,
    /// Lowest round.
    pub(crate) low: f64,
    /// Highest round.
    pub(crate) high: f64,
    /// With headers and FCS, where the sizes of the frames are known.
    pub(crate) layer_2_bits_per_second: Option<f64>,
    /// Busy time of the whole machine for each 10^9 bits of payload.
    pub(crate) cpu_seconds_per_gigabit: Option<f64>,
    /// Share of the machine's time that the hypervisor gave to others.
    pub(crate) steal: f64,
    /// TCP segments sent again.
    pub(crate) repeated_segments: f64,
    /// Share of the datagrams' payload that never arrived.
    pub(crate) lost: f64,
    /// Share of what came to the router's ports that its engine forwarded.
    pub(crate) by_engine: Option<f64>,
    /// Payload against Linux alone, within the rounds; `None` where they are no evidence.
    pub(crate) against_linux: Option<Estimate>,
    /// Rounds in which a flow stood still through the second half.
    pub(crate) silent_rounds: usize,
    /// Rounds behind this row, where these are not as many as behind the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rounds: Option<usize>,
}

/// Fewer rounds have no interval.
const LEAST_ROUNDS: usize = 3;

/// A device's payload against that of another, unless the rounds are no evidence.
fn against(
    rounds: &Rounds<Option<Sample>>,
    device: usize,
    other: usize,
    seed: u64,
) -> Option<Estimate> {
    let stolen =
        |sample: &Option<Sample>| sample.is_some_and(|sample| sample.carried.steal > NOISY_STEAL);
    let ratio = |(one, other): (&Option<Sample>, &Option<Sample>)| {
        let under = rate(other.as_ref());
        (under > 0.0).then(|| (rate(one.as_ref()) / under, stolen(one) || stolen(other)))
    };
    let ratios: Vec<_> = rounds.pairs(device, other).filter_map(ratio).collect();
    let judged = figures::judge(&ratios, rounds.count(), seed);
    let told = judged.weak.is_none() && judged.values.len() >= LEAST_ROUNDS;
    told.then(|| Estimate::of(&judged.values, seed))
}

/// A transfer that failed carried nothing.
fn rate(sample: Option<&Sample>) -> f64 {
    sample.map_or(0.0, |sample| sample.carried.payload_bits_per_second)
}

/// The rows of a case: `devices` by name, `rounds` of them in the same order.
fn rows(key: Case, devices: &[&str], rounds: &Rounds<Option<Sample>>, seed: u64) -> Vec<Row> {
    let linux = devices.iter().position(|name| *name == LINUX);
    let row = |(device, name): (usize, &&str)| {
        let samples: Vec<Sample> = rounds.of(device).flatten().copied().collect();
        let median = |of: &dyn Fn(&Sample) -> Option<f64>| {
            let values: Vec<f64> = samples.iter().filter_map(of).collect();
            (!values.is_empty()).then(|| figures::median(&values))
        };
        let rates = rounds.values(device, |sample| rate(sample.as_ref()));
        let (low, high) = figures::range(&rates);
        let against_linux = linux
            .filter(|&linux| linux != device)
            .and_then(|linux| against(rounds, device, linux, seed));
        Row {
            engine: (*name).to_owned(),
            key,
            payload_bits_per_second: figures::median(&rates),
            low,
            high,
            layer_2_bits_per_second: median(&|sample| sample.carried.layer_2_bits_per_second),
            cpu_seconds_per_gigabit: median(&|sample| sample.carried.cpu_seconds_per_gigabit),
            steal: median(&|sample| Some(sample.carried.steal)).unwrap_or(0.0),
            repeated_segments: median(&|sample| Some(sample.carried.repeated_segments as f64))
                .unwrap_or(0.0),
            lost: median(&|sample| Some(sample.carried.lost)).unwrap_or(0.0),
            by_engine: median(&|sample| sample.by_engine),
            against_linux,
            silent_rounds: samples
                .iter()
                .filter(|sample| sample.carried.silent_flows > 0)
                .count(),
            rounds: None,
        }
    };
    devices.iter().enumerate().map(row).collect()
}

#[cfg(test)]
#[path = "../../tests/unit/transfers.rs"]
mod tests;
