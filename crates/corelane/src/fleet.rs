//! `corelane fleet`: several routers side by side.

mod ask;
mod compare;
mod view;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use router::management_plane::node::{By, NODE, Node};

use self::ask::{Host, ask};
pub(crate) use self::view::Fleet;
use crate::common::{Json, Outcome, answer, print};
use crate::top::Screen;
use crate::values::time;

/// Compare running routers: health, version, rates, routes
///
/// Asks each at the address of its metrics. Exit code 0: all are there, ready and alike; 3: not.
/// Tables differ when both looks say so. Addresses, connected networks and neighbours are each
/// router's own, and are not compared.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Names or addresses, with a port if it is not 9470
    #[arg(value_name = "HOST", required_unless_present = "list")]
    hosts: Vec<Host>,
    /// The same from a file, one a line; # begins a comment
    #[arg(long = "file", value_name = "FILE")]
    list: Option<PathBuf>,
    /// Compare prefixes alone: gateways differ where each router has networks of its own
    #[arg(long)]
    prefixes: bool,
    /// Seconds between two looks, 0.1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "1",
        value_parser = time(0.1, 3600.0))]
    interval: Duration,
    /// Look again and again, until Ctrl-C, or q on a terminal
    #[arg(long, conflicts_with = "file")]
    watch: bool,
    #[command(flatten)]
    json: Json,
}

/// How often keys and signals are looked for.
const POLL: Duration = Duration::from_millis(50);

/// What a host said when it was asked.
struct Look {
    host: Host,
    at: Instant,
    seen: Result<Seen, String>,
}

/// An answer.
#[derive(Clone)]
struct Seen {
    node: Node,
    /// How far its clock is ahead, in seconds,
    clock: f64,
    /// and how much of that the exchange may have made.
    slack: f64,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    host::cleanup::on_signal()?;
    let hosts = hosts(arguments)?;
    let by = if arguments.prefixes {
        By::Prefixes
    } else {
        By::Ways
    };
    let live = arguments.watch && std::io::stdout().is_terminal();
    let screen = live.then(Screen::open).transpose()?;
    let mut before = look(&hosts);
    loop {
        if paused(arguments.interval, screen.as_ref())? {
            return Ok(answer(true));
        }
        let after = look(&hosts);
        let fleet = Fleet::between(&before, &after, by);
        if let Some(screen) = &screen {
            screen.draw(&fleet.to_text())?;
        } else if arguments.watch {
            print(&format!("{}\n", fleet.to_text()))?;
        } else {
            if after.iter().all(|look| look.seen.is_err()) {
                return Err(fleet.remarks.join("\n").into());
            }
            arguments.json.deliver(&fleet.to_text(), &fleet)?;
            return Ok(answer(fleet.well));
        }
        before = after;
    }
}

/// Waits; true when somebody has seen enough.
fn paused(time: Duration, screen: Option<&Screen>) -> std::io::Result<bool> {
    let end = Instant::now() + time;
    loop {
        if host::interrupted() || screen.map_or(Ok(false), Screen::is_quit_pressed)? {
            return Ok(true);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        thread::sleep(POLL.min(left));
    }
}

/// Those of the command line and of the file, each once.
fn hosts(arguments: &Arguments) -> Result<Vec<Host>, String> {
    let mut hosts = arguments.hosts.clone();
    if let Some(file) = &arguments.list {
        hosts.extend(read(file)?);
    }
    let mut once: Vec<Host> = Vec::new();
    for host in hosts {
        if !once.contains(&host) {
            once.push(host);
        }
    }
    Ok(once)
}

fn read(file: &Path) -> Result<Vec<Host>, String> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("reading {name}: {error}; give a file with a host a line"))?;
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let host = line.parse();
            hosts.push(host.map_err(|error| format!("{name}:{}: {error}", number + 1))?);
        }
    }
    if hosts.is_empty() {
        return Err(format!("{name}: it names no host; give one a line"));
    }
    Ok(hosts)
}

/// Asks all at once.
fn look(hosts: &[Host]) -> Vec<Look> {
    thread::scope(|scope| {
        let asking = hosts.iter().map(|host| scope.spawn(move || look_at(host)));
        let asking: Vec<_> = asking.collect();
        let looks = asking.into_iter().map(thread::ScopedJoinHandle::join);
        looks
            .map(|look| look.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn look_at(host: &Host) -> Look {
    let clock = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(0.0, |now| now.as_secs_f64())
    };
    let began = clock();
    let node = ask::<Node>(host, "/node", NODE);
    let ended = clock();
    Look {
        host: host.clone(),
        at: Instant::now(),
        seen: node.map(|node| Seen {
            clock: node.time - f64::midpoint(began, ended),
            slack: (ended - began) / 2.0,
            node,
        }),
    }
}

#[cfg(test)]
#[path = "../tests/unit/fleet.rs"]
mod tests;
