//! The frame sizes of a run, one item each: what every test is repeated for.

use tester::bench::sweep;
use tester::capture::Capture;
use tester::mix;
use tester::result::Test;
use tester::sizes::{self, Family, FrameSize};
use tester::traffic::Traffic;

use super::options::Options;

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

impl Item {
    fn new(label: String, sizes: Vec<FrameSize>) -> Self {
        Self {
            label,
            payload: None,
            sizes,
        }
    }
}

/// The items of a run, of sizes that a protocol and an MTU can carry.
///
/// # Errors
/// A size that they cannot, or options that do not go together.
pub(super) fn items(
    test: Test,
    options: &Options,
    traffic: &Traffic,
    family: Family,
    mtu: u16,
) -> Result<Vec<Item>, Error> {
    if test != Test::Sweep && !options.payloads.is_empty() {
        return Err("--payloads is for a sweep; other tests take --sizes".into());
    }
    if let Some(capture) = &traffic.replay {
        if test == Test::Sweep {
            return Err("--replay: a sweep has frames of its own".into());
        }
        return Ok(vec![replayed(options, capture, mtu)?]);
    }
    if test == Test::Sweep {
        if !options.sizes.is_empty() {
            return Err("--sizes: a sweep has payloads of its own, 64 to 1464 bytes".into());
        }
        let payloads = if options.payloads.is_empty() {
            sweep::payloads().collect()
        } else {
            options.payloads.clone()
        };
        return payloads
            .into_iter()
            .map(|payload| of_payload(payload, family, mtu))
            .collect();
    }
    if options.sizes.is_empty() {
        return Ok(sizes::standard(family, mtu)
            .into_iter()
            .map(of_size)
            .collect());
    }
    let sizes = options.sizes.iter();
    sizes.map(|text| named(text, family, mtu)).collect()
}

fn of_size(size: FrameSize) -> Item {
    Item::new(size.to_string(), vec![size])
}

/// The one item of a replay.
fn replayed(options: &Options, capture: &Capture, mtu: u16) -> Result<Item, Error> {
    let name = options.replay.as_ref().and_then(|path| path.file_name());
    let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mean = capture.mean_size().round() as u32;
    Ok(Item::new(
        name,
        vec![FrameSize::new(mean, Family::Ipv4, mtu)?],
    ))
}

fn of_payload(payload: u32, family: Family, mtu: u16) -> Result<Item, Error> {
    let size = FrameSize::of_udp_payload(payload, family, mtu)?;
    Ok(Item {
        payload: Some(payload),
        ..Item::new(format!("payload {payload}"), vec![size])
    })
}

fn named(text: &str, family: Family, mtu: u16) -> Result<Item, Error> {
    if text.eq_ignore_ascii_case("imix") {
        let sizes = mix::imix(family).into_iter();
        let sizes = sizes.map(|size| FrameSize::new(size, family, mtu));
        return Ok(Item::new(
            "IMIX".to_owned(),
            sizes.collect::<Result<_, _>>()?,
        ));
    }
    let bytes: u32 = text
        .parse()
        .map_err(|_| format!("--sizes {text}: give frame sizes in bytes with FCS, or imix"))?;
    Ok(of_size(FrameSize::new(bytes, family, mtu)?))
}
