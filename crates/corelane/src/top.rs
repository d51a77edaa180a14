//! `corelane top`: what a running router forwards, second by second. The figures are differences of
//! what `corelane show` answers, so both always agree.

mod hitters;
mod rates;
mod screen;

use std::error::Error;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use self::rates::Snapshot;
pub(crate) use self::rates::View;
pub(crate) use self::screen::Screen;
use crate::common::Outcome;
use crate::show::{Which, ask};
use crate::values::time;

/// Watch what a running router forwards: per port, per core and per reason, and who most of it is
///
/// A view that renews itself on a terminal; q or Ctrl-C ends it. With --once, or when the output
/// goes elsewhere, one table. Heavy hitters are found by samples, which are taken while somebody
/// watches: their rates are estimates, each with the interval that holds it in 95 of 100 cases.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Seconds between two looks, 0.1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = time(0.1, 3600.0))]
    interval: Duration,
    /// Print one table and end
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    which: Which,
}

/// How often keys and signals are looked for between two looks at the router.
const POLL: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    host::cleanup::on_signal()?;
    let live =
        !arguments.once && arguments.which.json.file().is_none() && std::io::stdout().is_terminal();
    let mut before = look(&arguments.which)?;
    if !live {
        sleep(arguments.interval);
        let view = View::between(&before, &look(&arguments.which)?);
        let which = &arguments.which;
        which.json.deliver(&view.to_text(), &view)?;
        return Ok(ExitCode::SUCCESS);
    }
    let screen = Screen::open()?;
    screen.draw("waiting for the first interval to pass …\n")?;
    loop {
        let next = before.at + arguments.interval;
        while Instant::now() < next {
            if host::interrupted() || screen.is_quit_pressed()? {
                return Ok(ExitCode::SUCCESS);
            }
            sleep(POLL.min(next.saturating_duration_since(Instant::now())));
        }
        let after = look(&arguments.which)?;
        screen.draw(&View::between(&before, &after).to_text())?;
        before = after;
    }
}

fn look(which: &Which) -> Result<Snapshot, Box<dyn Error + Send + Sync>> {
    let at = Instant::now();
    let answer = |subject: &str| ask(which, subject).map(|mut value| value[subject].take());
    Ok(Snapshot {
        ports: answer("ports")?,
        workers: answer("workers")?,
        drops: answer("drops")?,
        engine: answer("engine")?,
        hitters: answer("hitters")?,
        at,
    })
}
