//! `corelane verify`: that a running router's answers equal the kernel's; with `--frames`, that
//! frames end as they would with the kernel alone.

mod frames;

use std::path::PathBuf;
use std::time::Duration;

use router::engine::EngineKind;

use crate::common::{Outcome, answer};
use crate::show::{self, Which};
#[cfg(test)]
pub(crate) use frames::Search;

/// Prove that a running router's answers equal the kernel's, now
///
/// Reads the kernel's tables afresh and compares the answer for both ends of every range of
/// addresses that share a route, and asks the kernel for some at random. Exit code 0: equal; 3:
/// different, and the differences are printed.
///
/// With --frames no running router is asked: in twin beds of namespaces, one forwarded by the
/// kernel alone and one by this program, random configurations get random frames, and every frame
/// that leaves or does not is compared. Exit code 3: something differs, twice or for no known
/// cause, and the configuration and frames that show it are printed, as small as possible.
/// Needs root.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Compare what becomes of frames, in twin beds
    #[arg(long)]
    frames: bool,
    /// How long to draw configurations
    #[arg(long, value_name = "SECONDS", default_value = "20", requires = "frames",
        value_parser = crate::values::time(0.0, 1e6))]
    seconds: Duration,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, requires = "frames")]
    seed: u64,
    /// Twin beds that work side by side: most of their time they wait
    #[arg(long, value_name = "N", default_value_t = 4, requires = "frames")]
    twins: usize,
    /// What moves the frames [default: xdp, then af-xdp]
    #[arg(long, value_name = "ENGINE", requires = "frames")]
    engine: Vec<EngineKind>,
    /// Send the frames of the pcap or pcapng file FILE too, addressed anew; can be given again
    #[arg(long = "capture", value_name = "FILE", requires = "frames")]
    captures: Vec<PathBuf>,
    /// Run the case in FILE, as printed here before, and draw none; can be given again
    #[arg(long = "case", value_name = "FILE", requires = "frames")]
    cases: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.frames {
        return frames::run(arguments);
    }
    let value = show::ask(&arguments.which, "verify")?;
    let result = &value["verification"];
    let text = if result.is_null() {
        "this engine asks the kernel for every packet: there is nothing to compare\n".to_owned()
    } else {
        show::shown(result)
    };
    arguments.which.json.deliver(&text, &value)?;
    let different = result["different"]
        .as_u64()
        .is_some_and(|different| different > 0);
    Ok(answer(!different))
}
