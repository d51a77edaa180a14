//! The router's speed on veth pairs, engines by turns in one run: prints ratios, which carry over
//! to other machines; the absolute figures do not.
//!
//! A generator (live frames, 64 bytes with FCS, 2^20 random destinations in the table) sends into
//! the router's namespace; a sink behind it counts. Two groups, each in a namespace of its own:
//! - engines in the kernel, `linux` (its own forwarding), `xdp-kernel-fib`, `xdp`: generator,
//!   router and sink share the core that the generator runs on, so every figure includes all three;
//!   on one core, and on two with two generators and cables of two queues.
//! - engines in user space, `af-xdp` and `af-packet`, and `testpmd`, DPDK's `macswap`, which looks
//!   nothing up, on its `AF_XDP` devices: on the last core by themselves, with cables of one queue;
//!   the generator sends from the first, faster than they can take.
//!
//! The kernel and we hold the same table and 16 next hops. `make bench-router` runs it; arguments:
//! `--rounds N`, `--seconds S` per engine and round, `--engines LIST`, `--prefixes FILE`, `--json
//! FILE`.

mod bed;
mod devices;
mod load;
mod verdict;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bed::{Bed, Routes};
use bpf::attach::Request;
use devices::{Device, has_testpmd};
use fastpath::generate::Generator;
use fastpath::sink::{Checks, Sink};
use load::{generators, measure};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What was measured: by family, engine and number of generators, a rate for each round.
type Rates = BTreeMap<(&'static str, &'static str, usize), Vec<f64>>;

const NEXT_HOPS: u16 = 16;
const DESTINATIONS: usize = 1 << 20;
const SEED: u64 = 2544;
const IN_KERNEL: [&str; 3] = ["linux", "xdp-kernel-fib", "xdp"];
const IN_USER_SPACE: [&str; 3] = ["testpmd", "af-xdp", "af-packet"];
/// How long a device may take until its first frame arrives.
const PATIENCE: Duration = Duration::from_secs(20);

struct Arguments {
    rounds: usize,
    seconds: f64,
    engines: Vec<String>,
    prefixes: Option<std::path::PathBuf>,
    json: Option<std::path::PathBuf>,
}

fn arguments() -> Outcome<Arguments> {
    let all = IN_KERNEL.iter().chain(&IN_USER_SPACE);
    let mut arguments = Arguments {
        rounds: 5,
        seconds: 1.0,
        engines: all.clone().map(|&name| name.to_owned()).collect(),
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
                arguments.engines = value.split(',').map(str::to_owned).collect();
                let unknown = |name: &&String| !all.clone().any(|one| one == name);
                if let Some(name) = arguments.engines.iter().find(unknown) {
                    return Err(format!("--engines {name}: there is no such").into());
                }
            }
            "--prefixes" => arguments.prefixes = Some(value.into()),
            "--json" => arguments.json = Some(value.into()),
            _ => return Err(format!("unknown option {word}").into()),
        }
    }
    Ok(arguments)
}

/// Engines that are measured in one bed, by the same generators and sink.
struct Group {
    bed: Bed,
    engines: Vec<&'static str>,
    sink: Sink,
    generators: BTreeMap<&'static str, Vec<Generator>>,
}

impl Group {
    /// The engines of `of` that are wanted, in a bed whose cables have `queues` queues.
    fn new(
        of: &[&'static str],
        wanted: &[String],
        queues: usize,
        routes: &Routes,
    ) -> Outcome<Option<Self>> {
        let is_wanted = |name: &&'static str| wanted.iter().any(|one| one == name);
        let engines: Vec<_> = of.iter().copied().filter(is_wanted).collect();
        if engines.is_empty() {
            return Ok(None);
        }
        let bed = Bed::new(queues as u32)?;
        // The sink behind r1 drops in the driver: for the kernel's own forwarding, too, the
        // cheapest end there is.
        let mut sink = Sink::new(Checks::COUNT)?;
        let index = bed.right.b.interface.clone();
        bed.sink.enter(|| sink.attach(&index, Request::Native))??;
        let generators = generators(&bed, &routes.table, queues)?;
        Ok(Some(Self {
            bed,
            engines,
            sink,
            generators,
        }))
    }

    /// One measurement of everything.
    fn round(
        &mut self,
        routes: &Routes,
        rates: &mut Rates,
        seconds: f64,
        first: bool,
    ) -> Outcome<()> {
        for &engine in &self.engines {
            let (device, started) = Device::start(engine, &self.bed, routes)?;
            if first {
                let started = started.as_secs_f64();
                println!("{engine}: {}, started in {started:.2} s", device.modes());
            }
            for (family, generators) in &mut self.generators {
                let begin = Instant::now();
                while measure(&self.sink, &mut generators[..1], 0.02)? < 1.0 {
                    if begin.elapsed() > PATIENCE {
                        return Err(format!("{engine} forwards nothing").into());
                    }
                }
                for count in 1..=generators.len() {
                    let rate = measure(&self.sink, &mut generators[..count], seconds)?;
                    rates.entry((family, engine, count)).or_default().push(rate);
                }
            }
        }
        Ok(())
    }
}

fn main() -> Outcome<()> {
    let arguments = arguments()?;
    let routes = Routes::read(arguments.prefixes.as_deref())?;
    println!(
        "table: {} IPv4 and {} IPv6 prefixes ({}), {NEXT_HOPS} next hops",
        routes.table.v4.len(),
        routes.table.v6.len(),
        routes.source
    );
    let cores = host::cores::allowed_cores()?.len();
    let mut wanted = arguments.engines.clone();
    if !has_testpmd() || cores < 2 {
        println!("skipped: testpmd needs two cores and Debian's package dpdk");
        wanted.retain(|name| name != "testpmd");
    }
    let in_kernel = Group::new(&IN_KERNEL, &wanted, cores.min(2), &routes)?;
    if let Some(group) = &in_kernel
        && group.engines != ["xdp"]
    {
        let elapsed = group.bed.load_kernel(&routes)?.as_secs_f64();
        println!("table into the kernel by `ip -batch`: {elapsed:.1} s");
    }
    let in_user_space = Group::new(&IN_USER_SPACE, &wanted, 1, &routes)?;
    // Interleaved: one measurement of everything in each round, then medians of the ratios within a
    // round.
    let mut rates = Rates::new();
    let mut groups: Vec<Group> = in_kernel.into_iter().chain(in_user_space).collect();
    for round in 0..arguments.rounds {
        for group in &mut groups {
            group.round(&routes, &mut rates, arguments.seconds, round == 0)?;
        }
    }
    verdict::print(&rates);
    if let Some(path) = arguments.json {
        std::fs::write(path, verdict::json(&rates))?;
    }
    Ok(())
}
