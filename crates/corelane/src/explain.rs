//! `corelane explain`: what becomes of a packet in a running router, and why.

mod shown;

use std::fs::File;
use std::io::BufReader;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use port::pcap::Reader;
use router::management_plane::explain::{Question, bytes_of, hexadecimal};
use serde_json::Value;

use crate::common::{Outcome, answer};
use crate::show::{Which, ask};

/// Say what becomes of a packet, step by step, and why
///
/// The running router runs the program of the port on the frame, by hand: by its tables, nothing is
/// sent, and nothing is counted. Beside it is what the kernel would do, by its own look-up. Exit
/// code 3: the two differ, twice within a fifth of a second.
///
/// What is not said is chosen: a host on the port's link as source, UDP, the shortest packet.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where the packet goes
    #[arg(value_name = "ADDRESS", required_unless_present_any = ["frame", "pcap"])]
    to: Option<IpAddr>,
    /// Its source [default: a host on the port's link]
    #[arg(long, value_name = "ADDRESS")]
    from: Option<IpAddr>,
    /// The port that it comes by [default: the one towards its source, or another than its way out]
    #[arg(long, value_name = "NAME")]
    port: Option<String>,
    /// Identifier of the VLAN that it comes by
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=4094))]
    vlan: Option<u16>,
    /// tcp, udp, icmp or a number [default: udp]
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol)]
    protocol: Option<u8>,
    /// Source port of TCP or UDP [default: 49152]
    #[arg(long, value_name = "N")]
    source_port: Option<u16>,
    /// Destination port of TCP or UDP [default: 9]
    #[arg(long, value_name = "N")]
    destination_port: Option<u16>,
    /// Bytes of the IP packet [default: the headers, or what fills the shortest frame]
    #[arg(long, value_name = "N")]
    length: Option<u16>,
    /// The frame stands for segments with N bytes of data each (engine tc)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    segment: Option<u16>,
    /// Time to live, or hop limit [default: 64]
    #[arg(long, value_name = "N")]
    ttl: Option<u8>,
    /// This frame instead: hexadecimal, from the Ethernet header on, without FCS
    #[arg(long, value_name = "HEX", requires = "port", value_parser = frame,
          conflicts_with_all = ["to", "from", "vlan", "protocol", "source_port",
                                "destination_port", "length", "ttl", "pcap"])]
    frame: Option<String>,
    /// The first frame of the pcap or pcapng file FILE instead, or frame number N
    #[arg(long, value_name = "FILE[:N]", requires = "port",
          conflicts_with_all = ["to", "from", "vlan", "protocol", "source_port",
                                "destination_port", "length", "ttl"])]
    pcap: Option<String>,
    #[command(flatten)]
    which: Which,
}

/// Between two questions, when answers differ: the router may not have heard what changed.
const AGAIN: Duration = Duration::from_millis(200);

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let frame = match &arguments.pcap {
        Some(place) => Some(captured(place)?),
        None => arguments.frame.clone(),
    };
    let question = Question {
        to: arguments.to,
        from: arguments.from,
        port: arguments.port.clone(),
        vlan: arguments.vlan,
        protocol: arguments.protocol,
        source_port: arguments.source_port,
        destination_port: arguments.destination_port,
        length: arguments.length,
        segment: arguments.segment,
        ttl: arguments.ttl,
        frame,
    };
    let question = format!("explain {}", question.line());
    let mut value = ask(&arguments.which, &question)?;
    if differs(&value) {
        std::thread::sleep(AGAIN);
        value = ask(&arguments.which, &question)?;
    }
    arguments.which.json.deliver(&shown::text(&value), &value)?;
    Ok(answer(!differs(&value)))
}

fn differs(value: &Value) -> bool {
    let differences = value["differences"].as_array();
    differences.is_some_and(|differences| !differences.is_empty())
}

fn protocol(text: &str) -> Result<u8, String> {
    match text {
        "icmp" => Ok(1),
        "tcp" => Ok(6),
        "udp" => Ok(17),
        number => number
            .parse()
            .map_err(|_| "give tcp, udp, icmp or a number from 0 to 255".to_owned()),
    }
}

fn frame(text: &str) -> Result<String, String> {
    bytes_of(text).map(|bytes| hexadecimal(&bytes))
}

/// A frame of a capture: the first of a file, or with a colon and a number behind that one.
fn captured(place: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let numbered = place
        .rsplit_once(':')
        .filter(|_| !Path::new(place).exists())
        .and_then(|(file, number)| Some((file, number.parse::<usize>().ok()?)));
    let (file, number) = numbered.unwrap_or((place, 1));
    let input = File::open(file).map_err(|error| format!("{file}: {error}"))?;
    let mut reader = Reader::new(BufReader::new(input), file)?;
    let mut seen = 0;
    while let Some(record) = reader.next_record()? {
        seen += 1;
        if seen == number {
            return Ok(hexadecimal(record.bytes));
        }
    }
    Err(format!("{file}: has {seen} frames, and no number {number}; they count from 1").into())
}
