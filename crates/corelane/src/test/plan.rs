//! From options to what will be measured; everything that can be refused before anything is set up
//! is refused here.

use std::collections::BTreeSet;

use dut::stand::rigs::Generator;
use dut::stand::{calibrated, filters};
use tester::link::calibrated::Settings;
use tester::profile::Profile;
use tester::result::Test;
use tester::sizes::{self, Family};
use tester::traffic::Traffic;
use tester::trial::{Direction, Order};

use super::items::{self, Item};
use super::options::{Dut, Options};
use super::traffic;

/// Largest MTU of interfaces with an XDP program: what it leaves of a page.
const XDP_JUMBO_MTU: u16 = 3_386;
/// Largest MTU that carries the sizes of RFC 5180 §5.1.1.
const JUMBO_MTU: u16 = 9_198;
const ORDINARY_MTU: u16 = 1_500;
/// Pairs of ports that a frame's signature can tell apart.
const STREAMS: usize = 256;
/// What --trial takes, s: a trial of fewer frames than a buffer holds shows nothing; more than a
/// day is a mistake.
const SHORTEST_TRIAL: f64 = 0.01;
const LONGEST_TRIAL: f64 = 86_400.0;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What will be measured.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) test: Test,
    pub(super) family: Family,
    pub(super) direction: Direction,
    pub(super) items: Vec<Item>,
    pub(super) profile: Profile,
    pub(super) mtu: u16,
    /// Ports of the device.
    pub(super) ports: u8,
    pub(super) generator: Generator,
    pub(super) calibrated: Settings,
    pub(super) traffic: Traffic,
    /// The one rate of the test, frames/s, where it has one: of the tester no more is wanted than
    /// twice as much.
    pub(super) stated: Option<f64>,
    /// On how many cores the device is measured, where that was asked for.
    pub(super) cores: Option<Vec<usize>>,
}

impl Plan {
    pub(super) fn new(test: Test, options: &Options) -> Result<Self, Error> {
        let family = if options.ipv6 {
            Family::Ipv6
        } else {
            Family::Ipv4
        };
        let direction = if options.mesh {
            Direction::Mesh
        } else if options.both_ways {
            Direction::BothWays
        } else {
            Direction::OneWay
        };
        let ports = ports(options)?;
        let generator = generator(options, ports)?;
        let calibrated = calibrated::settings(&options.calibrated)?;
        let largest = options
            .sizes
            .iter()
            .filter_map(|size| size.parse::<u32>().ok())
            .max()
            .unwrap_or(0);
        let mtu = if largest <= u32::from(sizes::STANDARD_MAXIMUM) {
            ORDINARY_MTU
        } else if generator == Generator::Xdp || options.dut == Dut::Corelane {
            XDP_JUMBO_MTU
        } else {
            JUMBO_MTU
        };
        let traffic = traffic::traffic(options, mtu + sizes::FRAMING)?;
        // A mix has only sizes that both protocols can carry.
        let carried = if traffic.blend.is_some() {
            Family::Ipv6
        } else {
            family
        };
        let items = items::items(test, options, &traffic, carried, mtu)?;
        refuse(test, options, &items)?;
        let items_are_single = items.iter().all(|item| item.sizes.len() == 1);
        ensure(
            direction.streams(ports).len() <= STREAMS,
            format!("{ports} ports have more than {STREAMS} pairs in this direction; use fewer"),
        )?;
        let profile = profile(options)?;
        // Others search, or send bursts as fast as the tester can.
        let at_a_rate = matches!(
            test,
            Test::Latency | Test::Loss | Test::Recovery | Test::Reset
        );
        Ok(Self {
            test,
            family,
            direction,
            items,
            profile,
            mtu,
            ports,
            generator,
            calibrated,
            traffic,
            stated: options.rate.filter(|_| at_a_rate),
            cores: cores(test, options, items_are_single)?,
        })
    }

    /// The same for the self-test, whose cables join two ports each.
    pub(super) fn selftest_order(&self, item: &Item, destinations: u32) -> Order {
        let mut order = self.order(item, destinations);
        if self.ports != 2 || self.direction == Direction::Mesh {
            order.direction = self.direction.over_cables();
        }
        order
    }

    /// The protocols that are sent.
    pub(super) fn families(&self) -> Vec<Family> {
        if self.traffic.blend.is_some() || self.traffic.replay.is_some() {
            sizes::FAMILIES.to_vec()
        } else {
            vec![self.family]
        }
    }

    /// Longest frame, bytes with FCS.
    pub(super) fn largest(&self) -> u16 {
        if self.traffic.replay.is_some() {
            return self.mtu + sizes::FRAMING;
        }
        let sizes = self.items.iter().flat_map(|item| &item.sizes);
        sizes
            .map(|size| size.bytes())
            .max()
            .unwrap_or(sizes::STANDARD_MAXIMUM)
    }

    /// What all trials of an item have in common.
    pub(super) fn order(&self, item: &Item, destinations: u32) -> Order {
        Order {
            sizes: item.sizes.clone(),
            family: self.family,
            schedule: tester::schedule::Schedule::burst(1),
            direction: self.direction,
            destinations,
            traffic: self.traffic.clone(),
            time_every_frame: false,
            waits: self.profile.waits,
        }
    }
}

/// The profile, with what the command line changes in it.
fn profile(options: &Options) -> Result<Profile, Error> {
    let mut profile = if options.output.quick {
        Profile::QUICK
    } else {
        Profile::RFC_2544
    };
    if let Some(seconds) = options.trial {
        ensure(
            (SHORTEST_TRIAL..=LONGEST_TRIAL).contains(&seconds),
            format!("--trial {seconds}: give seconds from {SHORTEST_TRIAL} to {LONGEST_TRIAL}"),
        )?;
        profile = profile.with_trials_of(seconds);
    }
    if let Some(repeats) = options.repeats {
        profile = profile.with_repeats(repeats);
    }
    if let Some(seconds) = options.around {
        ensure(
            (SHORTEST_TRIAL..=LONGEST_TRIAL).contains(&seconds),
            format!("--around {seconds}: give seconds from {SHORTEST_TRIAL} to {LONGEST_TRIAL}"),
        )?;
        profile.recovery_seconds = (seconds, seconds);
        profile.reset_seconds = (seconds, seconds);
    }
    Ok(profile)
}

/// Refuses with a reason what does not hold.
fn ensure(holds: bool, otherwise: impl Into<String>) -> Result<(), Error> {
    if holds {
        return Ok(());
    }
    Err(otherwise.into().into())
}

/// Refuses what cannot be measured together.
fn refuse(test: Test, options: &Options, items: &[Item]) -> Result<(), Error> {
    ensure(
        options.dut == Dut::Calibrated || options.calibrated.is_empty(),
        "--calibrated is for --dut calibrated",
    )?;
    ensure(
        options.dut == Dut::External || options.device_counters.is_none(),
        "--device-counters is for --dut external; the others tell their counters themselves",
    )?;
    if let Some(rules) = options.filters {
        ensure(
            options.dut == Dut::Kernel && options.replay.is_none(),
            "--filters sets rules for test frames in the kernel under test; for others set them \
             in --before",
        )?;
        let known = filters::SETS.contains(&rules);
        ensure(
            known,
            format!("--filters {rules}: RFC 2544 §11.4 wants 1 or 25"),
        )?;
    }
    ensure(
        test != Test::BackToBack || items.iter().all(|item| item.sizes.len() == 1),
        "--sizes imix: back-to-back frames must be of one size (RFC 9004 §5.1)",
    )?;
    ensure(
        test != Test::Reset || options.dut != Dut::External || options.reset.is_some(),
        "a reset of an external device needs --reset COMMAND",
    )?;
    if let Some(rate) = options.rate {
        let sizes = items.iter().flat_map(|item| &item.sizes);
        let most = |line| {
            let rates = sizes.map(|size| size.theoretical_rate(line));
            rates.fold(f64::INFINITY, f64::min)
        };
        let most = options.line_rate.map_or(f64::INFINITY, most);
        ensure(
            rate <= most,
            format!("--rate {rate}: the medium carries at most {most:.0} frames/s at these sizes"),
        )?;
    }
    if options.far.is_some() {
        ensure(
            options.dut == Dut::External && options.ports.len() == 2,
            "--far needs --dut external and --port HERE,THERE: where frames leave this machine, \
             and where they reach the other",
        )?;
        ensure(
            !options.both_ways && !options.mesh && options.replay.is_none(),
            "--far: between two machines test frames go one way, from here to there",
        )?;
    }
    Ok(())
}

/// On how many cores the device is measured, ascending.
fn cores(test: Test, options: &Options, one_size: bool) -> Result<Option<Vec<usize>>, Error> {
    let Some(text) = &options.cores else {
        return Ok(None);
    };
    ensure(
        test == Test::Throughput && matches!(options.dut, Dut::Kernel | Dut::Corelane),
        "--cores is for the throughput of --dut kernel and --dut corelane",
    )?;
    ensure(
        one_size,
        "--cores takes one frame size at a time: leave imix out",
    )?;
    let all = host::allowed_cores()?.len();
    Ok(Some(core_counts(text, all)?))
}

/// `1,2`, `1..4`, `1..N`: counts of cores, each once, ascending; N is `all`.
fn core_counts(text: &str, all: usize) -> Result<Vec<usize>, Error> {
    let wrong = |part: &str| -> Error {
        format!(
            "--cores {part}: give counts from 1 to {all} such as 1,2 or 1..N, for this process \
             may use {all} cores"
        )
        .into()
    };
    let count = |word: &str| match word.trim() {
        "N" => Some(all),
        digits => digits
            .parse()
            .ok()
            .filter(|count| (1..=all).contains(count)),
    };
    let mut counts = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let ends = count(first).zip(count(last));
        let (first, last) = ends
            .filter(|(first, last)| first <= last)
            .ok_or_else(|| wrong(part))?;
        counts.extend(first..=last);
    }
    Ok(counts.into_iter().collect())
}

/// How many ports the device has.
fn ports(options: &Options) -> Result<u8, Error> {
    /// The address plan has room for so many.
    const MOST: usize = 64;
    let external = options.dut == Dut::External;
    ensure(
        external || options.ports.is_empty(),
        "--port is for --dut external; the other devices are set up in namespaces of their own",
    )?;
    let (count, wrong) = if external {
        let wrong = format!(
            "--dut external needs --port P0,P1 (or 4, 6, … up to {MOST}): where frames leave, \
             and where they come back"
        );
        (options.ports.len(), wrong)
    } else {
        let count = options.port_count;
        let wrong = format!("--port-count {count}: give an even number from 2 to {MOST}");
        (usize::from(count), wrong)
    };
    ensure((2..=MOST).contains(&count) && count % 2 == 0, wrong)?;
    // Of two machines only this one sends.
    let here = if options.far.is_some() { 1 } else { count };
    let macs = options.device_macs.len();
    ensure(
        macs == 0 || macs == here,
        format!(
            "--device-macs: {macs} addresses for {here} ports of this machine; give one for each"
        ),
    )?;
    Ok(count as u8)
}

/// The generator asked for, or the fastest that can do what is asked.
fn generator(options: &Options, ports: u8) -> Result<Generator, Error> {
    let in_memory = options.dut == Dut::Calibrated;
    // What the in-kernel generator cannot do, in words.
    let beyond_xdp = [
        (options.far.is_some(), "to another machine"),
        (options.replay.is_some(), "a capture"),
        (options.mix.is_some(), "both protocols at once"),
        (options.modifier.is_some(), "modifier frames"),
        (options.random_ports, "random UDP ports"),
        (ports > 2, "more than two ports"),
        (options.mesh, "a mesh"),
    ];
    let beyond_xdp = beyond_xdp.into_iter().find(|(asked, _)| *asked);
    let beyond_xdp = beyond_xdp.map(|(_, what)| what);
    match (options.generator, beyond_xdp) {
        (None | Some(Generator::Memory), _) if in_memory => Ok(Generator::Memory),
        (Some(_), _) if in_memory => {
            Err("--dut calibrated is in memory: leave --generator out".into())
        }
        (Some(Generator::Memory), _) => {
            Err("--generator memory reaches no interface; use it with --dut calibrated".into())
        }
        (Some(Generator::Xdp), Some(what)) => {
            Err(format!("--generator xdp cannot send {what}; use packet or af-xdp").into())
        }
        (Some(asked), _) => Ok(asked),
        (None, Some(_)) => Ok(Generator::Packet),
        (None, None) => Ok(Generator::Xdp),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/plan.rs"]
mod tests;
