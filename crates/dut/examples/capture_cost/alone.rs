//! The programs on frames that the kernel makes, without generator and cable: what differs is
//! instructions. A frame is made in batches, goes through the program and out by the other port to the
//! sink, which drops it. Caches are warm.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;

use bpf::attach::Request;
use bpf::program::Program;
use bpf::sys::run_live;
use dut::routes::{self, DESTINATIONS};
use fastpath::forward::Forwarder;
use fastpath::forward::capture::{Frames, Samples};
use fastpath::generate::{Destinations, Frames as Made, Generator};
use fib::NextHop;
use figures::{Estimate, Rounds};
use report::Table;
use tester::sizes::Family;
use tester::veth::lanes::{Lanes, NEXT_HOPS};

use crate::bed::{Failure, SEED, fill, lay, open};
use crate::{Options, Shown, arm, sample, settings};

/// Frames of a slice, fewer than the [batch](BATCH) has hops to live: a frame that is used again goes on
/// from what it was.
const FRAMES: u32 = 12_000;
const BATCH: u32 = 64;
const ROUNDS: u16 = 480;
/// Each setting's program is loaded so often, and the copies take turns: two at different addresses differ
/// by some 2 %.
const COPIES: usize = 8;
/// The program that ships.
const SHIPPED: &[u8] = include_bytes!("../../../fastpath/bpf/built/forward.bpf.o");
/// An address of the generator's network, from which the way back is this one.
const SOURCE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// What a program reads while it runs.
#[expect(dead_code, reason = "held")]
enum Reader {
    Nobody,
    Frames(Frames),
    Samples(Samples),
}

/// What each setting's program takes, beside the one that ships.
pub(crate) fn measure(options: &Options) -> Result<Table, Failure> {
    let routes = routes::load(None, usize::MAX, SEED)?;
    let core = host::allowed_cores()?[0];
    let lanes = lay("programs-alone", core, Family::Ipv4, DESTINATIONS, &routes)?;
    // In generic mode no program is for its device alone, and any can be run by hand.
    let mut forwarder = lanes.dut().enter(|| open(&lanes, Request::Generic))??;
    fill(&mut forwarder, &lanes, &routes)?;
    returns(&mut forwarder, &lanes)?;
    let frame = frame(&lanes, routes.destinations[0])?;
    let ingress = lanes.ingress().index;
    let mut settings = settings(ingress)?;
    // Nobody reads what would be shown of each.
    settings.retain(|setting| setting.name != "every frame");
    let mut programs: Vec<Vec<_>> = settings.iter().map(|_| Vec::new()).collect();
    for _ in 0..COPIES {
        for (setting, copies) in settings.iter().zip(&mut programs) {
            copies.push(program(&mut forwarder, ingress, &setting.shown)?);
        }
    }
    let mut rounds = Rounds::new(programs.len(), SEED);
    let count = options.rounds.unwrap_or(ROUNDS);
    lanes.dut().enter(|| {
        host::cores::bind(0, &[core])?;
        for turn in (0..COPIES).cycle().take(count.into()) {
            host::cleanup::check().map_err(std::io::Error::other)?;
            rounds.run(1, |place| {
                let (program, _) = &programs[place][turn];
                run_live(program.as_fd(), &frame, FRAMES, BATCH, 0).map(f64::from)
            })?;
        }
        Ok::<_, std::io::Error>(())
    })??;
    // In generic mode a tag is told of the frame that the kernel took in last, which may be another's.
    let counts = forwarder.port_counters();
    let received: u64 = counts.values().map(|port| port.received).sum();
    let forwarded: u64 = counts.values().map(|port| port.forwarded).sum();
    if forwarded < received / 100 * 99 {
        return Err(format!("of {received} frames {forwarded} were forwarded").into());
    }
    let title = format!("{FRAMES} frames made by the kernel, rounds: {count}");
    let mut table = Table::new(title)
        .text("captured")
        .number("ns a frame")
        .text("ns more (95 %)");
    for (place, setting) in settings.iter().enumerate() {
        let all = rounds.values(place, |&took| took);
        let more: Vec<f64> = rounds
            .pairs(place, 0)
            .map(|(one, ships)| one - ships)
            .collect();
        let more = Estimate::of(&more, SEED);
        table.push([
            setting.name.to_owned(),
            format!("{:.0}", figures::median(&all)),
            format!(
                "{:+.1} ({:+.1} to {:+.1})",
                more.value, more.interval.low, more.interval.high
            ),
        ]);
    }
    Ok(table)
}

/// A frame that was forwarded is again one for this router.
fn returns(forwarder: &mut Forwarder, lanes: &Lanes) -> Result<(), Failure> {
    for number in 1..=NEXT_HOPS {
        let mut entry = forwarder.next_hop(NextHop(number));
        entry.destination_mac = lanes.ingress().mac;
        forwarder.set_next_hop(NextHop(number), entry)?;
    }
    Ok(())
}

fn frame(lanes: &Lanes, to: u32) -> Result<Vec<u8>, Failure> {
    let made = Made {
        source_mac: lanes.sink_mac(),
        destination_mac: lanes.ingress().mac,
        vlan: None,
        source: IpAddr::V4(SOURCE),
        destinations: Destinations::V4(vec![Ipv4Addr::from_bits(to)]),
        source_port: 1024,
        source_ports: 1,
        destination_port: 9,
        ttl: 255,
        lengths: vec![60],
        stream: 1,
        stamp_every: 0,
    };
    Ok(Generator::new(lanes.ingress().index, &made)?.preview()?)
}

/// The program that a port has for a setting.
fn program(
    forwarder: &mut Forwarder,
    port: u32,
    shown: &Shown,
) -> Result<(Program, Reader), Failure> {
    Ok(match shown {
        Shown::Nothing => (forwarder.variant(port, SHIPPED)?, Reader::Nobody),
        Shown::Captured(wanted) => {
            let frames = arm(forwarder, wanted)?;
            let program = forwarder.showing(port)?;
            forwarder.end_capture();
            (program, Reader::Frames(frames))
        }
        Shown::Samples(every) => {
            let samples = sample(forwarder, *every)?;
            let program = forwarder.showing(port)?;
            forwarder.end_samples();
            (program, Reader::Samples(samples))
        }
    })
}
