//! From options to what will be measured; everything that can be refused before anything is set up is refused here.

use tester::bench::sweep;
use tester::mix;
use tester::profile::Profile;
use tester::result::Test;
use tester::sizes::{self, Family, FrameSize};
use tester::trial::{Direction, Order};

use super::{Dut, Options};

/// Largest MTU of the namespaces' interfaces: what XDP leaves of a page.
const JUMBO_MTU: u16 = 3_386;
const ORDINARY_MTU: u16 = 1_500;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// One size to test.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// How it is called in the report.
    pub(super) label: String,
    /// UDP payload, for the sweep.
    pub(super) payload: Option<u32>,
    /// Sizes by turns.
    pub(super) sizes: Vec<FrameSize>,
}

/// What will be measured.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) test: Test,
    pub(super) family: Family,
    pub(super) direction: Direction,
    pub(super) items: Vec<Item>,
    pub(super) profile: Profile,
    pub(super) mtu: u16,
}

impl Plan {
    pub(super) fn new(test: Test, options: &Options) -> Result<Self, Error> {
        let family = if options.ipv6 {
            Family::Ipv6
        } else {
            Family::Ipv4
        };
        let direction = if options.both_ways {
            Direction::BothWays
        } else {
            Direction::OneWay
        };
        let largest = options
            .sizes
            .iter()
            .filter_map(|size| size.parse::<u32>().ok())
            .max()
            .unwrap_or(0);
        let mtu = if largest > u32::from(sizes::STANDARD_MAXIMUM) {
            JUMBO_MTU
        } else {
            ORDINARY_MTU
        };
        let items = if test == Test::Sweep {
            if !options.sizes.is_empty() {
                return Err("--sizes: a sweep has payloads of its own, 64 to 1464 bytes".into());
            }
            sweep::payloads()
                .map(|payload| payload_item(payload, family, mtu))
                .collect::<Result<Vec<_>, _>>()?
        } else if options.sizes.is_empty() {
            sizes::standard(family, mtu).into_iter().map(item).collect()
        } else {
            options
                .sizes
                .iter()
                .map(|text| named(text, family, mtu))
                .collect::<Result<Vec<_>, _>>()?
        };
        if test == Test::BackToBack && items.iter().any(|item| item.sizes.len() > 1) {
            return Err(
                "--sizes imix: back-to-back frames must be of one size (RFC 9004 §5.1)".into(),
            );
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
        if options.dut == Dut::External && options.ports.len() != 2 {
            return Err(
                "--dut external needs --ports P0,P1: where frames leave, and where they come back"
                    .into(),
            );
        }
        if options.dut != Dut::External && !options.ports.is_empty() {
            return Err("--ports is for --dut external; the other devices are set up in namespaces of their own".into());
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
        let profile = if options.output.quick {
            Profile::QUICK
        } else {
            Profile::RFC_2544
        };
        Ok(Self {
            test,
            family,
            direction,
            items,
            profile,
            mtu,
        })
    }

    /// What all trials of an item have in common.
    pub(super) fn order(&self, item: &Item, destinations: u32) -> Order {
        Order {
            sizes: item.sizes.clone(),
            family: self.family,
            schedule: tester::schedule::Schedule::burst(1),
            direction: self.direction,
            destinations,
            time_every_frame: false,
            waits: self.profile.waits,
        }
    }
}

fn item(size: FrameSize) -> Item {
    Item {
        label: size.to_string(),
        payload: None,
        sizes: vec![size],
    }
}

fn payload_item(payload: u32, family: Family, mtu: u16) -> Result<Item, Error> {
    let size = FrameSize::of_udp_payload(payload, family, mtu)?;
    Ok(Item {
        label: format!("payload {payload}"),
        payload: Some(payload),
        sizes: vec![size],
    })
}

fn named(text: &str, family: Family, mtu: u16) -> Result<Item, Error> {
    if text.eq_ignore_ascii_case("imix") {
        let sizes = mix::imix(family)
            .into_iter()
            .map(|size| FrameSize::new(size, family, mtu))
            .collect::<Result<_, _>>()?;
        return Ok(Item {
            label: "IMIX".to_owned(),
            payload: None,
            sizes,
        });
    }
    let bytes: u32 = text
        .parse()
        .map_err(|_| format!("--sizes {text}: give frame sizes in bytes with FCS, or imix"))?;
    Ok(item(FrameSize::new(bytes, family, mtu)?))
}
