//! The router's speed on veth pairs, engines by turns in one run: prints ratios, which carry over to other machines; the absolute
//! figures do not.
//!
//! A generator (live frames, 64 bytes with FCS, 2^20 random destinations in the table) sends into the router's namespace; a sink
//! behind it counts. Generator, router and sink share the core that the generator runs on, so every figure includes all three.
//! Engines: `linux` (its own forwarding), `xdp-kernel-fib`, `xdp`. The kernel and we hold the same table and 16 next hops.
//!
//! `make bench-router` runs it; arguments: `--rounds N`, `--seconds S` per engine and round, `--engines LIST`,
//! `--prefixes FILE`, `--json FILE`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastpath::attach::Request;
use fastpath::forward::{Capacity, Forwarder, Lookup, PortSettings};
use fastpath::generate::{Destinations, Frames, Generator};
use fastpath::sink::{Checks, Sink};
use fib::next_hop::Kind;
use fib::prefix_file::Prefixes;
use fib::{NextHop, NextHopEntry};
use host::namespace::{Namespace, Veth};
use host::pin::Pinned;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const TABLE: u32 = 254;
const NEXT_HOPS: u16 = 16;
const DESTINATIONS: usize = 1 << 20;
const SEED: u64 = 2544;
const ENGINES: [&str; 3] = ["linux", "xdp-kernel-fib", "xdp"];

struct Arguments {
    rounds: usize,
    seconds: f64,
    engines: Vec<&'static str>,
    prefixes: Option<std::path::PathBuf>,
    json: Option<std::path::PathBuf>,
}

fn arguments() -> Outcome<Arguments> {
    let mut arguments = Arguments {
        rounds: 5,
        seconds: 1.0,
        engines: ENGINES.to_vec(),
        prefixes: std::env::var_os("CORELANE_PREFIXES").map(Into::into),
        json: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word}: no value"))?;
        match word.as_str() {
            "--rounds" => arguments.rounds = value.parse()?,
            "--seconds" => arguments.seconds = value.parse()?,
            "--engines" => {
                arguments.engines = ENGINES
                    .into_iter()
                    .filter(|engine| value.split(',').any(|word| word == *engine))
                    .collect();
            }
            "--prefixes" => arguments.prefixes = Some(value.into()),
            "--json" => arguments.json = Some(value.into()),
            _ => return Err(format!("unknown option {word}").into()),
        }
    }
    Ok(arguments)
}

/// The Internet's table from a file where there is one, else a generated one of its size and shape.
fn prefixes(file: Option<&std::path::Path>) -> Outcome<(Prefixes, String)> {
    let beside = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/internet-prefixes.txt.gz");
    let path = file.map_or(beside, Into::into);
    if !path.exists() {
        return Ok((fib::generated::internet(SEED), "generated".to_owned()));
    }
    let unpacked = Command::new("gzip").arg("-dcf").arg(&path).output()?;
    let name = path.to_string_lossy().into_owned();
    Ok((fib::prefix_file::read(&unpacked.stdout[..], &name)?, name))
}

/// Three namespaces in a row and the cables between them.
struct Bed {
    router: Namespace,
    sink: Namespace,
    left: Veth,
    right: Veth,
}

impl Bed {
    fn new() -> Outcome<Self> {
        let (generator, router, sink) = (
            Namespace::new("generator")?,
            Namespace::new("router")?,
            Namespace::new("sink")?,
        );
        let queues = std::thread::available_parallelism()?.get() as u32;
        let left = Veth::new((&generator, "p0"), (&router, "r0"), queues)?;
        let right = Veth::new((&router, "r1"), (&sink, "p1"), queues)?;
        for key in ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"] {
            router.set(key, "1")?;
        }
        router.ip("address add 10.0.0.1/24 dev r0".split(' '))?;
        router.ip("address add 10.0.1.1/24 dev r1".split(' '))?;
        router.ip("address add fd00:0::1/64 dev r0 nodad".split(' '))?;
        router.ip("address add fd00:1::1/64 dev r1 nodad".split(' '))?;
        // So that r0 takes redirected frames also while no XDP program is attached to it.
        let gro = router
            .command("ethtool")
            .args(["-K", "r0", "gro", "on"])
            .status()?;
        if !gro.success() {
            return Err("ethtool -K r0 gro on failed; install ethtool".into());
        }
        Ok(Self {
            router,
            sink,
            left,
            right,
        })
    }

    /// MAC address of a next hop behind r1. All are the sink's port: a device that looks at addresses takes them all.
    fn neighbour(&self, _id: u16) -> [u8; 6] {
        self.right.b.mac
    }

    /// Gives the kernel the neighbours and the table.
    fn load_kernel(&self, table: &Prefixes, v4: &[NextHop], v6: &[NextHop]) -> Outcome<Duration> {
        let mut batch = String::new();
        for id in 1..=NEXT_HOPS {
            let mac = self
                .neighbour(id)
                .map(|byte| format!("{byte:02x}"))
                .join(":");
            writeln!(
                batch,
                "neigh replace 10.0.1.{} lladdr {mac} nud permanent dev r1",
                1 + id
            )?;
            writeln!(
                batch,
                "neigh replace fd00:1::{:x} lladdr {mac} nud permanent dev r1",
                1 + id
            )?;
        }
        for (prefix, id) in table.v4.iter().zip(v4) {
            writeln!(
                batch,
                "route append {}/{} via 10.0.1.{} dev r1",
                Ipv4Addr::from(prefix.address()),
                prefix.length(),
                1 + id.0
            )?;
        }
        for (prefix, id) in table.v6.iter().zip(v6) {
            writeln!(
                batch,
                "route append {}/{} via fd00:1::{:x} dev r1",
                Ipv6Addr::from(prefix.address()),
                prefix.length(),
                1 + id.0
            )?;
        }
        let begin = Instant::now();
        let mut ip = Command::new("ip")
            .args(["-n", self.router.name(), "-force", "-batch", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        ip.stdin
            .take()
            .ok_or("no pipe")?
            .write_all(batch.as_bytes())?;
        ip.wait()?;
        Ok(begin.elapsed())
    }

    /// A forwarder with both ports enabled, and for our own lookup with the table; says how long filling it took.
    fn forwarder(
        &self,
        lookup: Lookup,
        table: &Prefixes,
        v4: &[NextHop],
        v6: &[NextHop],
    ) -> Outcome<(Forwarder, Duration)> {
        let mut forwarder = Forwarder::new(lookup, Capacity::default())?;
        let begin = Instant::now();
        for port in [&self.left.b, &self.right.a] {
            forwarder.attach(&port.interface, Request::Native)?;
            let settings = PortSettings {
                enabled: true,
                mac: port.mac,
                table: TABLE,
                vlans: Vec::new(),
            };
            forwarder.set_port(port.index, &settings)?;
        }
        if lookup == Lookup::Own {
            for id in 1..=NEXT_HOPS {
                let entry = NextHopEntry {
                    kind: Kind::Adjacency,
                    mtu: 1500,
                    port: self.right.a.index,
                    destination_mac: self.neighbour(id),
                    source_mac: self.right.a.mac,
                    ..NextHopEntry::default()
                };
                forwarder.set_next_hop(NextHop(id), entry)?;
            }
            let routes: Vec<_> = table.v4.iter().copied().zip(v4.iter().copied()).collect();
            for part in routes.chunks(16 << 10) {
                forwarder.set_routes_v4(TABLE, part)?;
            }
            let routes: Vec<_> = table.v6.iter().copied().zip(v6.iter().copied()).collect();
            for part in routes.chunks(16 << 10) {
                forwarder.set_routes_v6(TABLE, part)?;
            }
            forwarder.settle();
        }
        Ok((forwarder, begin.elapsed()))
    }

    fn frames(&self, destinations: Destinations, stream: u16) -> Frames {
        let source = match destinations {
            Destinations::V4(_) => IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
            Destinations::V6(_) => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2)),
        };
        let mut frames = Frames {
            source_mac: self.left.a.mac,
            destination_mac: self.left.b.mac,
            vlan: None,
            source,
            destinations,
            source_port: 1024,
            source_ports: 1,
            destination_port: 9,
            ttl: 64,
            lengths: vec![60],
            stream,
            stamp_every: 0,
        };
        frames.lengths = vec![frames.shortest()];
        frames
    }
}

/// For each family a generator on each of one or two cores.
fn generators(bed: &Bed, table: &Prefixes) -> Outcome<BTreeMap<&'static str, Vec<Generator>>> {
    let cores = host::cores::allowed_cores()?.len().min(2);
    let mut generators = BTreeMap::new();
    for family in ["IPv4", "IPv6"] {
        let mut all = Vec::new();
        for core in 0..cores {
            let seed = SEED + core as u64;
            let destinations = if family == "IPv4" {
                let list = fib::generated::addresses_hitting(seed, &table.v4, 2 * DESTINATIONS);
                Destinations::V4(
                    list.into_iter()
                        .filter(|&address| !wire::ipv4::destination_is_martian(address))
                        .map(Ipv4Addr::from)
                        .take(DESTINATIONS)
                        .collect(),
                )
            } else {
                let list = fib::generated::addresses_hitting(seed, &table.v6, DESTINATIONS);
                Destinations::V6(list.into_iter().map(Ipv6Addr::from).collect())
            };
            let frames = bed.frames(destinations, core as u16);
            let end = &bed.left.a;
            all.push(
                end.namespace
                    .enter(|| Generator::new(end.index, &frames))??,
            );
        }
        generators.insert(family, all);
    }
    Ok(generators)
}

/// Frames a second that reach the sink while the generators run, each on its own core.
fn measure(sink: &Sink, generators: &mut [Generator], seconds: f64) -> Outcome<f64> {
    let stop = AtomicBool::new(false);
    let cores = host::cores::allowed_cores()?;
    std::thread::scope(|scope| -> Outcome<f64> {
        let threads: Vec<_> = generators
            .iter_mut()
            .zip(&cores)
            .map(|(generator, &core)| {
                let stop = &stop;
                scope.spawn(move || -> Result<(), String> {
                    let _pinned = Pinned::to(core).map_err(|error| error.to_string())?;
                    while !stop.load(Ordering::Relaxed) {
                        generator
                            .send(16 << 10)
                            .map_err(|error| error.to_string())?;
                    }
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(150));
        let (begin, before) = (Instant::now(), sink.counts()?.frames);
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let (after, elapsed) = (sink.counts()?.frames, begin.elapsed());
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a generator panicked")??;
        }
        Ok((after - before) as f64 / elapsed.as_secs_f64())
    })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

/// What was measured: by family, engine and number of cores, a rate for each round.
type Rates = BTreeMap<(&'static str, &'static str, usize), Vec<f64>>;

/// Prints the table and returns the JSON of its rows. Ratios are medians of the ratios within a round.
fn report(rates: &Rates) -> Vec<String> {
    println!(
        "\n{:<6}{:<16}{:>6}{:>14}{:>14}{:>12}{:>12}",
        "", "engine", "cores", "Mpps median", "Mpps spread", "vs linux", "vs 1 core"
    );
    let mut results = Vec::new();
    for (&(family, engine, count), values) in rates {
        let against = |other: (&str, &str, usize)| {
            let mut ratios: Vec<_> = values
                .iter()
                .zip(rates.get(&other).into_iter().flatten())
                .map(|(a, b)| a / b)
                .collect();
            median(&mut ratios)
        };
        let (linux, one) = (
            against((family, "linux", count)),
            against((family, engine, 1)),
        );
        let kernel_fib = against((family, "xdp-kernel-fib", count));
        let mut sorted = values.clone();
        let middle = median(&mut sorted);
        let spread = (sorted[sorted.len() - 1] - sorted[0]) / 1e6;
        println!(
            "{family:<6}{engine:<16}{count:>6}{:>14.3}{spread:>14.3}{linux:>12.2}{one:>12.2}",
            middle / 1e6
        );
        results.push(format!(
            "{{\"family\":\"{family}\",\"engine\":\"{engine}\",\"cores\":{count},\"frames_per_second\":{middle:.0},\"against_linux\":{linux:.3},\"against_kernel_fib\":{kernel_fib:.3},\"against_one_core\":{one:.3}}}"
        ));
        if engine == "xdp" {
            println!("{:<6}{:<16}{:>46.2} vs xdp-kernel-fib", "", "", kernel_fib);
        }
    }
    results
}

fn main() -> Outcome<()> {
    let arguments = arguments()?;
    let (table, source) = prefixes(arguments.prefixes.as_deref())?;
    println!(
        "table: {} IPv4 and {} IPv6 prefixes ({source}), {NEXT_HOPS} next hops",
        table.v4.len(),
        table.v6.len()
    );
    let v4 = fib::generated::next_hops(SEED, table.v4.len(), NEXT_HOPS);
    let v6 = fib::generated::next_hops(SEED, table.v6.len(), NEXT_HOPS);
    let bed = Bed::new()?;
    if arguments.engines != ["xdp"] {
        let elapsed = bed.load_kernel(&table, &v4, &v6)?;
        println!(
            "table into the kernel by `ip -batch`: {:.1} s",
            elapsed.as_secs_f64()
        );
    }

    // The sink behind r1 drops in the driver: for the kernel's own forwarding, too, the cheapest end there is.
    let mut sink = Sink::new(Checks::COUNT)?;
    let index = bed.right.b.interface.clone();
    bed.sink.enter(|| sink.attach(&index, Request::Native))??;

    let mut generators = generators(&bed, &table)?;
    // Interleaved: one measurement of everything in each round, then medians of the ratios within a round.
    let mut rates = Rates::new();
    let mut fill = Vec::new();
    for _round in 0..arguments.rounds {
        for &engine in &arguments.engines {
            let held = match engine {
                "linux" => None,
                "xdp" => Some(bed.router.enter(|| {
                    bed.forwarder(Lookup::Own, &table, &v4, &v6)
                        .map_err(|e| e.to_string())
                })??),
                _ => Some(bed.router.enter(|| {
                    bed.forwarder(Lookup::Kernel, &table, &v4, &v6)
                        .map_err(|e| e.to_string())
                })??),
            };
            if let ("xdp", Some((_, elapsed))) = (engine, &held) {
                fill.push(elapsed.as_secs_f64());
            }
            for (family, generators) in &mut generators {
                for count in 1..=generators.len() {
                    let rate = measure(&sink, &mut generators[..count], arguments.seconds)?;
                    rates.entry((family, engine, count)).or_default().push(rate);
                }
            }
        }
    }

    let results = report(&rates);
    println!(
        "table into the forwarder (with attaching): {:.2} s",
        median(&mut fill)
    );
    if let Some(path) = arguments.json {
        std::fs::write(
            &path,
            format!(
                "{{\"schema\":\"corelane-bench-router/1\",\"results\":[{}]}}\n",
                results.join(",")
            ),
        )?;
    }
    Ok(())
}
