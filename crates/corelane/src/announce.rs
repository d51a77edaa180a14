//! `corelane announce`: has a routing daemon announce while the router is ready, and withdraw while
//! it is not.
//!
//! It decides nothing but that: what is announced, and to whom, stands in the daemon's
//! configuration. A thread asks the router, since one that was stopped never answers.

mod decision;

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use host::cleanup::{self, Interrupted};
use router::log::{self, Level};
use router::management_plane::config::{Config, Routing};
use serde_json::Value;

use self::decision::{Decision, Patience};
use crate::common::{Outcome, answer};
use crate::drain::{Told, routing};
use crate::show::Named;
use crate::values::time;

/// A router that has not answered for so long is not ready; health itself waits as long.
const SILENCE: Duration = Duration::from_secs(2);
/// How often signals are looked for.
const POLL: Duration = Duration::from_millis(50);

/// Announce while a running router is ready, withdraw while it is not
///
/// Looks at its health again and again, until Ctrl-C or SIGTERM. The routing daemon or the command
/// of the configuration (keys drain-…) is told what drain and undrain tell it. A router that is not
/// there is not ready. What cannot be told is told again at the next look.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    told: Told,
    /// Seconds between two looks, 0.1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = time(0.1, 3600.0))]
    interval: Duration,
    /// Announce when it has been ready for so long
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = time(0.0, 86400.0))]
    after: Duration,
    /// Withdraw when so many looks in a row say that it is not ready
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    looks: u32,
    /// Withdraw when told to end; without it, what is announced stays so
    #[arg(long)]
    withdraw_at_end: bool,
    /// Look once, tell, and end. Exit code 0: announced; 3: withdrawn
    #[arg(long, conflicts_with_all = ["interval", "after", "looks", "withdraw_at_end"])]
    once: bool,
    #[command(flatten)]
    router: Named,
}

/// What a look at the router has found.
struct Seen {
    ready: bool,
    draining: bool,
    /// Why it is not ready.
    reason: String,
}

pub(crate) fn run(arguments: Arguments) -> Outcome {
    cleanup::on_signal()?;
    let config = arguments.told.config()?;
    if config.drain_routing == Routing::None && config.drain_withdraw.is_empty() {
        let remedy = "give drain-routing, or drain-withdraw and drain-restore";
        return Err(format!("the configuration names nobody to tell; {remedy}").into());
    }
    let looks = look_again_and_again(arguments.router, arguments.interval);
    if arguments.once {
        let seen = next(&looks, SILENCE).ok_or(Interrupted)?;
        tell(&config, seen.ready, &seen.reason)?;
        return Ok(answer(seen.ready));
    }
    let mut decision = Decision::new(Patience {
        looks: arguments.looks,
        after: arguments.after,
    });
    let mut failed = String::new();
    while let Some(seen) = next(&looks, arguments.interval + SILENCE) {
        let now = Instant::now();
        let Some(announced) = decision.look(seen.ready, seen.draining, now) else {
            failed.clear();
            continue;
        };
        match tell(&config, announced, &seen.reason) {
            Ok(()) => {
                decision.is_told(announced);
                failed.clear();
            }
            // Once for each thing that is said, not once a look.
            Err(error) if error != failed => {
                let pairs = [("what", what(announced)), ("error", error.clone())];
                log::write(Level::Error, "failed", &pairs);
                failed = error;
            }
            Err(_) => {}
        }
    }
    if arguments.withdraw_at_end {
        tell(&config, false, "told to end")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Has the daemon announce or withdraw, and says so.
fn tell(config: &Config, announced: bool, reason: &str) -> Result<(), String> {
    if announced {
        routing::restore(config)?;
        log::write(Level::Info, "announced", &[]);
    } else {
        routing::withdraw(config)?;
        let pairs = [("reason", reason.to_owned())];
        log::write(Level::Warning, "withdrawn", &pairs);
    }
    Ok(())
}

fn what(announced: bool) -> String {
    if announced { "announce" } else { "withdraw" }.to_owned()
}

/// What a thread of its own finds; it looks again when somebody has heard of the last look.
fn look_again_and_again(router: Named, interval: Duration) -> Receiver<Seen> {
    let (say, looks) = sync_channel(0);
    thread::spawn(move || {
        while say.send(look(&router)).is_ok() {
            thread::sleep(interval);
        }
    });
    looks
}

/// The next look, or that there is none for so long. None: a signal has come.
fn next(looks: &Receiver<Seen>, patience: Duration) -> Option<Seen> {
    let end = Instant::now() + patience;
    while !host::interrupted() {
        if let Ok(seen) = looks.recv_timeout(POLL) {
            return Some(seen);
        }
        if Instant::now() >= end {
            let seconds = SILENCE.as_secs();
            let reason = format!("the router has not answered for {seconds} s");
            return Some(Seen::not_ready(reason));
        }
    }
    None
}

fn look(router: &Named) -> Seen {
    router.ask("health").map_or_else(
        |error| Seen::not_ready(error.to_string()),
        |health| Seen::of(&health),
    )
}

impl Seen {
    fn not_ready(reason: String) -> Self {
        Self {
            ready: false,
            draining: false,
            reason,
        }
    }

    fn of(health: &Value) -> Self {
        let is = |what: &str| health[what] == Value::Bool(true);
        let conditions = health["conditions"].as_array().into_iter().flatten();
        let reasons = conditions.filter_map(|condition| condition["reason"].as_str());
        let mut reason = reasons.collect::<Vec<_>>().join("; ");
        if reason.is_empty() {
            "all conditions hold, but not for long enough".clone_into(&mut reason);
        }
        Self {
            ready: is("ready"),
            draining: is("draining"),
            reason,
        }
    }
}
