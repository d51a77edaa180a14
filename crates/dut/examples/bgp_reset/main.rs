//! A BGP session that carries the Internet's table is reset under traffic: how long until all
//! routes are back in the forwarding table, and how many frames are lost meanwhile?
//!
//! BIRD announces the table to a BIRD in the router's namespace, which gives it to the kernel.
//! There the frames of a generator are forwarded to a sink, by Linux alone and then by `corelane
//! run`. The announcing side ends the session and opens it again: the routes go, and come back.
//!
//! `make bench-bgp-reset`, as root; needs BIRD.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use dut::routes::{self, Routes};
use fastpath::generate::Generator;
use report::Table;
use report::units::grouped;

mod site;
mod traffic;

use site::Site;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Shortest pause between two looks at the number of routes.
const LOOK: Duration = Duration::from_millis(20);
/// A pause is so many times as long as the look before: the kernel walks its table for each.
const PAUSE: u32 = 10;
/// A number of routes that has not changed for so long is that of a table at rest.
const REST: Duration = Duration::from_secs(3);
/// The longest wait for a table.
const PATIENCE: Duration = Duration::from_mins(10);
/// Traffic before the reset, of which nothing may be lost, and after all routes are back.
const AROUND: Duration = Duration::from_secs(1);

/// A BGP session with a full table is reset under traffic
#[derive(Parser)]
struct Options {
    /// The program `corelane`
    program: PathBuf,
    /// A file of prefixes, one a line, plain or packed by gzip; generated ones without
    #[arg(long)]
    routes: Option<PathBuf>,
    /// Announce so many IPv4 prefixes at most
    #[arg(long)]
    most: Option<usize>,
    /// Frames a second
    #[arg(long, default_value_t = 50_000, value_parser = rates())]
    rate: u32,
    /// The engine of `corelane run`
    #[arg(long, default_value = "xdp")]
    engine: String,
}

fn rates() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=500_000)
}

/// What a reset did.
struct Reset {
    routes: usize,
    fewest: usize,
    /// From the reset on, until the kernel and until the router had all routes again.
    kernel: Duration,
    router: Option<Duration>,
    lost: u64,
    lost_before: u64,
}

fn main() -> ExitCode {
    let measured = host::cleanup::on_signal()
        .map_err(Failure::from)
        .and_then(|()| measure(&Options::parse()));
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if host::interrupted() => ExitCode::from(130),
        Err(error) => {
            eprintln!("bgp_reset: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<(), Failure> {
    let mut routes = routes::load(options.routes.as_deref(), usize::MAX, 1)?;
    if let Some(most) = options.most {
        routes.prefixes.v4.truncate(most);
        let within = |address: &u32| {
            let after = routes
                .prefixes
                .v4
                .partition_point(|prefix| prefix.address() <= *address);
            routes.prefixes.v4[..after]
                .iter()
                .rev()
                .take(64)
                .any(|prefix| prefix.contains(*address))
        };
        routes.destinations.retain(within);
    }
    let mut table = Table::new(format!(
        "A BGP session is reset; {} frames/s; table {}",
        grouped(options.rate.into()),
        routes.from
    ))
    .text("forwarded by")
    .numbers([
        "routes",
        "fewest",
        "all in the kernel, s",
        "all in the router, s",
        "frames lost",
        "that is, s",
        "lost in a second before",
    ]);
    let ours = (options.program.as_path(), options.engine.as_str());
    for (name, program) in [("Linux alone", None), ("corelane", Some(ours))] {
        let reset = reset(&routes, options.rate, program)?;
        let seconds = |time: Duration| format!("{:.2}", time.as_secs_f64());
        table.push([
            name.to_owned(),
            grouped(reset.routes as u64),
            grouped(reset.fewest as u64),
            seconds(reset.kernel),
            reset.router.map_or("–".to_owned(), seconds),
            grouped(reset.lost),
            format!("{:.2}", reset.lost as f64 / f64::from(options.rate)),
            grouped(reset.lost_before),
        ]);
    }
    print!("{}", table.to_text());
    Ok(())
}

/// Lays the site, waits for the table, and resets the session under traffic.
fn reset(routes: &Routes, rate: u32, program: Option<(&Path, &str)>) -> Result<Reset, Failure> {
    let mut site = Site::lay(routes)?;
    at_rest(|| site.kernel_routes(), routes.prefixes.v4.len())?;
    if let Some((program, engine)) = program {
        site.start(program, engine)?;
    }
    let count = |site: &Site| Ok((site.kernel_routes()?, site.router_routes()?));
    at_rest(|| Ok(site.router_routes()?.unwrap_or(usize::MAX)), 0)?;
    let (in_kernel, in_router) = count(&site)?;
    let mut generator = site.generator(&routes.destinations)?;
    let ((), lost_before) = lost(&site, &mut generator, rate, |_| {
        thread::sleep(AROUND);
        Ok(())
    })?;
    let mut watched = Watched::default();
    let ((), lost) = lost(&site, &mut generator, rate, |site| {
        thread::sleep(AROUND);
        site.restart_session()?;
        watched.watch((in_kernel, in_router), || count(site))?;
        thread::sleep(AROUND);
        Ok(())
    })?;
    Ok(Reset {
        routes: in_kernel,
        fewest: watched.fewest,
        kernel: watched.kernel.unwrap_or_default(),
        router: watched.router.filter(|_| in_router.is_some()),
        lost,
        lost_before,
    })
}

/// What `work` gives while frames are sent, and how many of them were lost.
fn lost<T>(
    site: &Site,
    generator: &mut Generator,
    rate: u32,
    work: impl FnOnce(&Site) -> Result<T, Failure>,
) -> Result<(T, u64), Failure> {
    let before = site.arrived()?;
    let (given, sent) = traffic::while_sending(generator, rate, || work(site))?;
    thread::sleep(AROUND);
    let arrived = site.arrived()? - before;
    Ok((given?, sent.saturating_sub(arrived)))
}

/// When the routes were back after a reset.
#[derive(Default)]
struct Watched {
    fewest: usize,
    kernel: Option<Duration>,
    router: Option<Duration>,
}

/// Routes in the kernel, and in the router if there is one.
type Counts = (usize, Option<usize>);

impl Watched {
    /// Looks until all routes have gone missing and come back. A router that has missed none has
    /// them when the kernel has.
    fn watch(
        &mut self,
        (in_kernel, in_router): Counts,
        count: impl Fn() -> Result<Counts, Failure>,
    ) -> Result<(), Failure> {
        let (begun, mut pause) = (Instant::now(), LOOK);
        self.fewest = in_kernel;
        while self.kernel.is_none() || self.router.is_none() {
            within_patience(begun)?;
            let (kernel, router) = unhurried(&mut pause, &count)?;
            self.fewest = self.fewest.min(kernel);
            if self.fewest < in_kernel && kernel >= in_kernel {
                self.kernel.get_or_insert(begun.elapsed());
            }
            if self.kernel.is_some() && router >= in_router {
                self.router.get_or_insert(begun.elapsed());
            }
        }
        Ok(())
    }
}

/// Waits until a number of routes, `most` less a tenth or more, stays as it is.
fn at_rest(count: impl Fn() -> Result<usize, Failure>, most: usize) -> Result<(), Failure> {
    let (begun, mut pause) = (Instant::now(), LOOK);
    let (mut last, mut since) = (0, begun);
    loop {
        let now = unhurried(&mut pause, &count)?;
        if now != last {
            (last, since) = (now, Instant::now());
        } else if now >= most - most / 10 && since.elapsed() > REST {
            return Ok(());
        }
        within_patience(begun)?;
    }
}

/// Counts after a pause that leaves the core to others; `pause` becomes the next one.
fn unhurried<T>(
    pause: &mut Duration,
    count: impl Fn() -> Result<T, Failure>,
) -> Result<T, Failure> {
    thread::sleep(*pause);
    let begun = Instant::now();
    let counted = count()?;
    *pause = LOOK.max(begun.elapsed() * PAUSE);
    Ok(counted)
}

/// An error when the user has interrupted, or it takes too long.
fn within_patience(begun: Instant) -> Result<(), Failure> {
    host::cleanup::check()?;
    if begun.elapsed() > PATIENCE {
        let seconds = PATIENCE.as_secs();
        return Err(format!("the table was not complete after {seconds} s; try --most").into());
    }
    Ok(())
}
