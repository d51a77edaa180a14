//! From options to what will be measured; everything that can be refused before anything is set up
//! is refused here.

use tester::link::calibrated::Settings;
use tester::profile::Profile;
use tester::result::Test;
use tester::sizes::{self, Family};
use tester::traffic::Traffic;
use tester::trial::{Direction, Order};

use super::items::{self, Item};
use super::options::{Dut, Generator, Options};
use super::{calibrated, filters, traffic};

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
        if direction.streams(ports).len() > STREAMS {
            return Err(format!(
                "{ports} ports have more than {STREAMS} pairs in this direction; use fewer"
            )
            .into());
        }
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
        })
    }

    /// The same for the self-test, whose cables join two ports each.
    pub(super) fn selftest_order(&self, item: &Item, destinations: u32) -> Order {
        let order = self.order(item, destinations);
        if self.ports == 2 && self.direction != Direction::Mesh {
            return order;
        }
        Order {
            direction: self.direction.over_cables(),
            ..order
        }
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
        if !(SHORTEST_TRIAL..=LONGEST_TRIAL).contains(&seconds) {
            return Err(format!(
                "--trial {seconds}: give seconds from {SHORTEST_TRIAL} to {LONGEST_TRIAL}"
            )
            .into());
        }
        profile = profile.with_trials_of(seconds);
    }
    if let Some(repeats) = options.repeats {
        profile = profile.with_repeats(repeats);
    }
    Ok(profile)
}

/// Refuses what cannot be measured together.
fn refuse(test: Test, options: &Options, items: &[Item]) -> Result<(), Error> {
    if options.dut != Dut::Calibrated && !options.calibrated.is_empty() {
        return Err("--calibrated is for --dut calibrated".into());
    }
    if let Some(rules) = options.filters {
        if options.dut != Dut::Kernel || options.replay.is_some() {
            return Err(
                "--filters sets rules for test frames in the kernel under test; for others set \
                 them in --before"
                    .into(),
            );
        }
        if !filters::SETS.contains(&rules) {
            return Err(format!("--filters {rules}: RFC 2544 §11.4 wants 1 or 25").into());
        }
    }
    if test == Test::BackToBack && items.iter().any(|item| item.sizes.len() > 1) {
        return Err("--sizes imix: back-to-back frames must be of one size (RFC 9004 §5.1)".into());
    }
    if test == Test::Reset && options.dut == Dut::External && options.reset.is_none() {
        return Err("a reset of an external device needs --reset COMMAND".into());
    }
    if options
        .rate
        .is_some_and(|rate| rate <= 0.0 || !rate.is_finite())
    {
        return Err("--rate: give a number of frames/s above 0".into());
    }
    if let (Some(line), Some(rate)) = (options.line_rate, options.rate) {
        let most = items
            .iter()
            .flat_map(|item| &item.sizes)
            .map(|size| size.theoretical_rate(line))
            .fold(f64::INFINITY, f64::min);
        if rate > most {
            return Err(format!(
                "--rate {rate}: the medium carries at most {most:.0} frames/s at these sizes"
            )
            .into());
        }
    }
    if options.far.is_some() && (options.dut != Dut::External || options.ports.len() != 2) {
        return Err(
            "--far needs --dut external and --ports HERE,THERE: where frames leave this machine, \
             and where they reach the other"
                .into(),
        );
    }
    let one_way = !options.both_ways && !options.mesh && options.replay.is_none();
    if options.far.is_some() && !one_way {
        return Err(
            "--far: between two machines test frames go one way, from here to there".into(),
        );
    }
    Ok(())
}

/// How many ports the device has.
fn ports(options: &Options) -> Result<u8, Error> {
    /// The address plan has room for so many.
    const MOST: usize = 64;
    let count = match options.dut {
        Dut::External => options.ports.len(),
        _ if !options.ports.is_empty() => {
            return Err(
                "--ports is for --dut external; the other devices are set up in namespaces of \
                 their own"
                    .into(),
            );
        }
        _ => usize::from(options.port_count),
    };
    if count < 2 || count % 2 != 0 || count > MOST {
        return Err(match options.dut {
            Dut::External => format!(
                "--dut external needs --ports P0,P1 (or 4, 6, … up to {MOST}): where frames \
                 leave, and where they come back"
            ),
            _ => format!("--port-count {count}: give an even number from 2 to {MOST}"),
        }
        .into());
    }
    // Of two machines only this one sends.
    let here = if options.far.is_some() { 1 } else { count };
    if !options.device_macs.is_empty() && options.device_macs.len() != here {
        return Err(format!(
            "--device-macs: {} addresses for {here} ports of this machine; give one for each",
            options.device_macs.len()
        )
        .into());
    }
    Ok(count as u8)
}

/// The generator asked for, or the fastest that can do what is asked.
fn generator(options: &Options, ports: u8) -> Result<Generator, Error> {
    let in_memory = options.dut == Dut::Calibrated;
    // What the in-kernel generator cannot do, in words.
    let beyond_xdp = if options.far.is_some() {
        Some("to another machine")
    } else if options.replay.is_some() {
        Some("a capture")
    } else if options.mix.is_some() {
        Some("both protocols at once")
    } else if options.modifier.is_some() {
        Some("modifier frames")
    } else if ports > 2 {
        Some("more than two ports")
    } else if options.mesh {
        Some("a mesh")
    } else {
        None
    };
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
