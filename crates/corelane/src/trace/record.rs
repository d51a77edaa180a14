//! `corelane trace record`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tracer::analyse::Analysis;
use tracer::event::{Event, Kind};
use tracer::record::{Backend, Options, RecordError, Recorded, Recording, Target, Unwinding};
use tracer::verdict::verdict;

use crate::common::{Outcome, answer, print, unless_interrupted};
use crate::values::{renamed, size, time};

/// Between two looks whether the target has ended or a signal has come: each wakes a thread on the
/// machine that is recorded.
const LOOK: Duration = Duration::from_millis(50);

/// Record a command from start to end, a running process, or everything; needs root
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write the trace to FILE
    #[arg(short, long, value_name = "FILE", default_value = "corelane.trace")]
    output: PathBuf,
    /// The process to study, with what it starts
    #[arg(long, value_name = "PID", conflicts_with_all = ["all", "command"])]
    pid: Option<u32>,
    /// Study everything that runs
    #[arg(long, conflicts_with = "command")]
    all: bool,
    /// End after SECONDS (with --pid or --all, and without --last, 5 unless told)
    #[arg(long, alias = "duration", value_name = "SECONDS", value_parser = time(1e-3, 86400.0))]
    seconds: Option<Duration>,
    /// Keep the last SECONDS before the end alone: a flight recorder, until a signal or --seconds
    #[arg(long, value_name = "SECONDS", value_parser = time(1e-3, 86400.0))]
    last: Option<Duration>,
    /// Record code places at waits and wake-ups (about 2 microseconds each); `dwarf` finds callers
    /// where programs keep no frame pointers, from 8 KiB of stack that each event copies
    #[arg(
        long,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "fp"
    )]
    stacks: Option<Callers>,
    /// Record XDP's own tracepoints too, which fire for bursts of packets
    #[arg(long)]
    packets: bool,
    /// Hear of switches through perf too, not by eBPF programs
    #[arg(long)]
    perf: bool,
    /// Size of each core's ring: KiB, or a size with its unit
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4MiB",
        value_parser = size(4 << 10, 1 << 30, 1 << 10)
    )]
    ring: u64,
    /// The command to study
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// How callers are found, as perf names it. Descriptions of the values would have all of the help printed
/// at length.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Callers {
    Fp,
    Dwarf,
}

/// Records.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    renamed("--duration", "--seconds");
    let target = match (arguments.pid, arguments.all, arguments.command.is_empty()) {
        (Some(pid), ..) => Target::Process(pid),
        (None, true, _) => Target::Everything,
        (None, false, false) => Target::Command(arguments.command.clone()),
        (None, false, true) => {
            return Err("nothing to record: give -- COMMAND, --pid PID or --all".into());
        }
    };
    let is_command = matches!(target, Target::Command(_));
    let options = Options {
        target,
        ring_bytes: arguments.ring as usize,
        stacks: arguments.stacks.map(|how| match how {
            Callers::Fp => Unwinding::FramePointers,
            Callers::Dwarf => Unwinding::Tables,
        }),
        packets: arguments.packets,
        last: arguments.last,
        output: Some(arguments.output.clone()),
        backend: if arguments.perf {
            Backend::Perf
        } else {
            Backend::Fastest
        },
        ..Options::default()
    };
    host::cleanup::on_signal()?;
    let mut recording = Recording::start(&options)?;
    let limit = arguments
        .seconds
        .or((!is_command && arguments.last.is_none()).then_some(Duration::from_secs(5)));
    until_ended(&mut recording, limit);
    // Who ends the recording wants to see it; a second signal ends the program.
    let asked_to_end = host::interrupted();
    let recorded = recording.stop()?;
    let path = arguments.output.display();
    let look = || look_at(recorded);
    let seen = if asked_to_end {
        look()?
    } else {
        unless_interrupted(look).inspect_err(|_| eprintln!("{path} has the whole recording"))??
    };
    report::hint(&format!("{path}: {}", seen.counted));
    print(&super::lines(&seen.sentences))?;
    report::hint(&format!(
        "The whole report: corelane trace report {path} --html FILE"
    ));
    Ok(answer(true))
}

/// Waits for the end of the target, a signal, or the end of the time.
pub(super) fn until_ended(recording: &mut Recording, limit: Option<Duration>) {
    let started = Instant::now();
    while !recording.ended()
        && !host::interrupted()
        && limit.is_none_or(|limit| started.elapsed() < limit)
    {
        let rest = limit.map_or(Duration::MAX, |limit| {
            limit.saturating_sub(started.elapsed())
        });
        std::thread::sleep(rest.min(LOOK));
    }
}

/// What there is to say of a recording.
struct Seen {
    counted: String,
    sentences: Vec<String>,
}

fn look_at(recorded: Recorded) -> Result<Seen, RecordError> {
    let bytes = recorded.bytes;
    let trace = recorded.into_trace()?;
    let is_switch = |event: &&Event| matches!(event.kind, Kind::Switch { .. });
    let switches = trace.events.iter().filter(is_switch).count();
    let (events, lost) = (trace.events.len(), trace.events_lost());
    let exit = match trace.trailer.exit.as_str() {
        "" => String::new(),
        exit => format!("; the command ended: {exit}"),
    };
    let counted =
        format!("{events} events ({switches} switches) in {bytes} bytes, {lost} lost{exit}");
    let sentences = verdict(&trace, &Analysis::new(&trace)).sentences;
    Ok(Seen { counted, sentences })
}
