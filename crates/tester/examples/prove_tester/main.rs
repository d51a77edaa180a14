//! What the tester makes of devices whose answer is known: `cargo run --release -p tester --example
//! prove_tester`. Rates from 1000 to a million frames/s, three sizes; a device in memory by a
//! simulated clock, and as root the kernel's token buckets, of one size at each rate. A table of
//! asked, truth, found and held, with the seconds that each device took; fails where one claim does
//! not hold. Arguments are rates to take in their place, with every size.
//!
//! A rate that this machine does not carry over veth has no number: that is no failure.

mod bucket;
mod claim;
mod memory;

use std::process::ExitCode;
use std::time::Instant;

use claim::Claim;
use report::Table;
use tester::schedule::Schedule;
use tester::sizes::{Family, FrameSize};
use tester::traffic::Traffic;
use tester::trial::{Direction, Order, Waits};

type Error = Box<dyn std::error::Error>;

/// What is claimed of a device of a rate, frames/s, with frames of so many bytes.
type Claims = fn(f64, u32) -> Result<Vec<Claim>, Error>;

/// Frames/s, unless arguments say others: 700,000 is the most at which one core of a virtual machine has
/// filled the token bucket's queue. Each with the one size that the token bucket has then: what
/// is claimed depends on the rate, a size only changes how the bucket is told it, and its trials take
/// their real time.
const RATES: [(f64, u32); 5] = [(1e3, 64), (1e4, 512), (1e5, 1518), (7e5, 64), (1e6, 64)];
/// Bytes with FCS.
const SIZES: [u32; 3] = [64, 512, 1518];

fn main() -> Result<ExitCode, Error> {
    host::cleanup::on_signal()?;
    host::namespace::sweep_leftovers();
    let mut table = Table::new("Devices whose answer is known")
        .text("device")
        .numbers(["frame bytes", "rate"])
        .texts(["figure", "asked"])
        .numbers(["truth", "found", "off"])
        .text("held")
        .number("s");
    let mut wrong = 0;
    let given: Vec<f64> = std::env::args()
        .skip(1)
        .map(|rate| rate.parse::<f64>())
        .collect::<Result<_, _>>()?;
    let every = |(rate, own)| SIZES.map(|bytes| (rate, bytes, bytes == own));
    let cases: Vec<(f64, u32, bool)> = if given.is_empty() {
        RATES.into_iter().flat_map(every).collect()
    } else {
        let sizes = |rate| SIZES.map(|bytes| (rate, bytes, true));
        given.into_iter().flat_map(sizes).collect()
    };
    for (rate, bytes, bucket) in cases {
        let mut devices: Vec<(&str, Claims)> = vec![("memory", memory::claims)];
        if bucket && host::process::is_root() {
            devices.push(("token bucket", bucket::claims));
            devices.push(("limit without queue", bucket::claims_without_queue));
        }
        for (device, claims) in devices {
            let begun = Instant::now();
            let claims = claims(rate, bytes)?;
            let mut took = format!("{:.1}", begun.elapsed().as_secs_f64());
            for claim in claims {
                wrong += u32::from(claim.found.is_ok() && !claim.held());
                let first = [device.to_owned(), bytes.to_string(), format!("{rate}")];
                let row = first.into_iter().chain(cells(&claim));
                let row: Vec<String> = row.chain([std::mem::take(&mut took)]).collect();
                eprintln!("{}", row.join("  "));
                table.push(row);
            }
        }
    }
    print!("{}", table.to_text());
    println!("{wrong} claims do not hold");
    Ok(ExitCode::from(u8::from(wrong > 0)))
}

/// What a row says of a claim.
fn cells(claim: &Claim) -> [String; 6] {
    let (found, off, held) = match &claim.found {
        Ok(found) => (
            format!("{found:.0}"),
            format!("{:+.2} %", (found / claim.truth - 1.0) * 100.0),
            if claim.held() { "yes" } else { "no" }.to_owned(),
        ),
        Err(why) => ("-".to_owned(), "-".to_owned(), why.clone()),
    };
    let what = claim.what.to_owned();
    let truth = format!("{:.0}", claim.truth);
    [what, claim.asked.clone(), truth, found, off, held]
}

/// Frames of a size, one way to one destination.
fn order(bytes: u32) -> Result<Order, Error> {
    Ok(Order {
        sizes: vec![FrameSize::new(bytes, Family::Ipv4, 1500)?],
        family: Family::Ipv4,
        schedule: Schedule::burst(1),
        direction: Direction::OneWay,
        destinations: 1,
        traffic: Traffic::default(),
        time_every_frame: false,
        waits: Waits::QUICK,
    })
}
