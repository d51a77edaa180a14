//! The options of a test.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{ArgPredicate, PossibleValue, PossibleValuesParser, TypedValueParser};
use dut::stand::rigs::Generator;
use tester::expect::Expectation;
use tester::traffic::Modifier;

use crate::common::ResultOptions;
use crate::values::{bits_per_second, frames_per_second, seconds};

/// What is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Dut {
    /// Linux's own forwarding, in namespaces made for the test
    Kernel,
    /// Our router (`corelane run`), in namespaces made for the test
    Corelane,
    /// Whatever lies between the interfaces of --port
    External,
    /// A device in memory that does what --calibrated says: the tester's own yardstick, without
    /// root
    Calibrated,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// What is tested
    #[arg(long, value_enum, default_value = "kernel")]
    pub(super) dut: Dut,
    /// Engine of --dut corelane
    #[arg(long, value_name = "ENGINE", default_value = "xdp")]
    pub(super) engine: String,
    /// Settings of --dut calibrated, as rate=500kpps,buffer=256,delay=20us,loss=0.1%
    #[arg(long, value_name = "NAME=VALUE,...", value_delimiter = ',')]
    pub(super) calibrated: Vec<String>,
    /// Who makes and checks the frames [default: xdp; packet where xdp cannot do what is asked]
    #[arg(long, value_parser = generator())]
    pub(super) generator: Option<Generator>,
    /// Frame sizes in bytes with FCS, separated by commas; `imix` for the simple Internet mix
    /// [default: the standard ones]
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',')]
    pub(super) sizes: Vec<String>,
    /// UDP payloads of a sweep, bytes [default: 64 to 1464 in steps of 100]
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',')]
    pub(super) payloads: Vec<u32>,
    /// Test with IPv6
    #[arg(long)]
    pub(super) ipv6: bool,
    /// Test with IPv4 and IPv6 by turns, in this proportion (RFC 5180 §5.3)
    #[arg(long, value_name = "V4:V6", conflicts_with = "ipv6")]
    pub(super) mix: Option<String>,
    /// Other frames in the place of some of the test frames (RFC 2544 §11.1 to §11.3)
    #[arg(long, value_enum)]
    pub(super) modifier: Option<Modifier>,
    /// Filter rules in the kernel under test, 1 or 25 (RFC 2544 §11.4)
    #[arg(long, value_name = "RULES")]
    pub(super) filters: Option<u8>,
    /// Give every test frame pseudorandom UDP ports, by --seed (RFC 4814 §4.5)
    #[arg(long)]
    pub(super) random_ports: bool,
    /// Send the frames of a capture over and over in place of test frames
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["sizes", "modifier", "mix", "random_ports", "both_ways", "mesh"]
    )]
    pub(super) replay: Option<PathBuf>,
    /// Send both ways at once
    #[arg(long)]
    pub(super) both_ways: bool,
    /// Send from every port to all others by turns (RFC 2889 §5.1)
    #[arg(long, conflicts_with = "both_ways")]
    pub(super) mesh: bool,
    /// Ports of a device made for the test, an even number
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(super) port_count: u8,
    /// Destination addresses behind each port, 1 to 1048576; 256 with --cores
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        default_value_if("cores", ArgPredicate::IsPresent, "256"),
        value_parser = clap::value_parser!(u32).range(1..=1 << 20)
    )]
    pub(super) destinations: u32,
    /// Also search the non-drop and the partial drop rate (multiple loss ratio search)
    #[arg(long)]
    pub(super) loss_ratio: bool,
    /// Throughput of the device on so many cores, `1,2` or `1..N`; N is all. Each core makes,
    /// forwards and counts its own frames
    #[arg(
        long,
        value_name = "COUNTS",
        conflicts_with_all = [
            "generator", "mix", "modifier", "filters", "random_ports", "replay", "mesh",
            "port_count", "loss_ratio", "before", "after", "line_rate"
        ]
    )]
    pub(super) cores: Option<String>,
    /// Rate of the tests that build on a throughput, instead of searching it: frames/s, as in 64000,
    /// 500k or 1.5Mpps
    #[arg(long, value_name = "RATE", value_parser = frames_per_second)]
    pub(super) rate: Option<f64>,
    /// Length of the trials that decide, and of those of latency and loss, in seconds [default:
    /// 60, latency 120; --quick: 0.1 to 0.5]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(super) trial: Option<f64>,
    /// Repetitions of latency, back-to-back, recovery and reset trials [default: 20, 50, 5, 5;
    /// --quick: 3, 5, 3, 3], and rounds of --cores [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) repeats: Option<u32>,
    /// Time before and after a reset, or the end of an overload, in seconds [default: 15 and 45, 60
    /// and 20; --quick: 1 and 4, 1 and 1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(super) around: Option<f64>,
    /// Interfaces of --dut external, separated by commas or each with a --port of its own: where
    /// frames leave the tester and where they come back, by turns
    #[arg(
        long = "port",
        alias = "ports",
        value_name = "P0,P1,...",
        value_delimiter = ','
    )]
    pub(super) ports: Vec<String>,
    /// Hardware addresses of the external device's ports [default: from the neighbour table]
    #[arg(long, value_name = "M0,M1,...", value_delimiter = ',')]
    pub(super) device_macs: Vec<String>,
    /// Shell command that prints the external device's counters of lost frames: `name value` lines
    /// or Prometheus text. It is run before and after each trial
    #[arg(long, value_name = "COMMAND")]
    pub(super) device_counters: Option<String>,
    /// Another machine, USER@HOST: the second --port is there, and the same program
    #[arg(long, value_name = "USER@HOST")]
    pub(super) far: Option<String>,
    /// The far machine sends every frame back: counts and delays are of the round trip, so delays
    /// need no common clock
    #[arg(long, requires = "far")]
    pub(super) round_trip: bool,
    /// Command that runs a program on the far machine; the machine and the program follow
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "ssh -o BatchMode=yes",
        requires = "far"
    )]
    pub(super) ssh: String,
    /// This program on the far machine
    #[arg(
        long,
        value_name = "PATH",
        default_value = "corelane",
        requires = "far"
    )]
    pub(super) far_program: String,
    /// Rate of the external medium: bits/s, as in 10G or 2.5Gbit/s
    #[arg(long, value_name = "RATE", value_parser = bits_per_second)]
    pub(super) line_rate: Option<f64>,
    /// Send even into an interface that carries a default route
    #[arg(long)]
    pub(super) i_know: bool,
    /// Shell command run before each test
    #[arg(long, value_name = "COMMAND")]
    pub(super) before: Option<String>,
    /// Shell command run after each test
    #[arg(long, value_name = "COMMAND")]
    pub(super) after: Option<String>,
    /// Shell command that resets the device [default: kernel: its ports down and up; corelane:
    /// kill and start again]
    #[arg(long, value_name = "COMMAND")]
    pub(super) reset: Option<String>,
    /// Shell command run when an overload begins (recovery)
    #[arg(long, value_name = "COMMAND")]
    pub(super) overload: Option<String>,
    /// Fail unless this holds, `throughput[64] >= 1.0Mpps`; may be given again
    #[arg(long, value_name = "EXPECTATION")]
    pub(super) expect: Vec<Expectation>,
    #[command(flatten)]
    pub(super) output: ResultOptions,
}

/// Reads a generator's name.
fn generator() -> impl TypedValueParser<Value = Generator> {
    let values = [
        (
            Generator::Xdp,
            "eBPF programs in the kernel: fastest; two ports, one protocol",
        ),
        (Generator::AfXdp, "`AF_XDP` sockets: every byte compared"),
        (
            Generator::Packet,
            "`AF_PACKET` sockets: every byte compared, any interface",
        ),
        (Generator::Memory, "Memory: for --dut calibrated"),
    ];
    let values = values.map(|(one, words)| PossibleValue::new(one.name()).help(words));
    PossibleValuesParser::new(values)
        .try_map(|name| Generator::named(&name).ok_or("there is no such generator"))
}
