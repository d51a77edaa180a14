//! `corelane capture`: frames off the fast path, with what the router made of them.
//!
//! The router has its ports run programs that show frames for as long as this process holds the
//! connection. The frames are read here, from the memory into which the programs wrote them.

mod filter;
pub(crate) mod frame;
mod output;
mod ways;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bpf::classic::Filter;
use fastpath::forward::Reason;
use fastpath::forward::capture::{Counted, Frames, LONGEST_SNAP};
use router::management_plane::capture::{Request, Started, StartedPort, reason};
use router::take_over::Channel;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use self::frame::Frame;
use self::output::Output;
use self::ways::Ways;
use crate::common::Outcome;
use crate::show::Which;
use crate::values::size;

/// Show frames off the fast path, and what the router made of each
///
/// As they came, with the reason or the way out, longest prefix and next hop: as lines, as JSON
/// lines, or as pcapng for Wireshark (--write - | wireshark -k -i -). Without --reason and
/// --forwarded: all frames. Ctrl-C ends it. The filter is compiled by tcpdump, and runs in the
/// router's program; where the kernel refuses it there, here. While nobody captures, nothing of this
/// is in the router's programs.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only frames that pass, as for tcpdump: host 192.0.2.1 and udp
    filter: Vec<String>,
    /// What `tcpdump -ddd FILTER` printed, instead; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "filter")]
    program: Option<PathBuf>,
    /// Only frames that were left for this reason, or another that is given so
    #[arg(long = "reason", value_name = "REASON", value_parser = known)]
    reasons: Vec<Reason>,
    /// Only frames that were forwarded, or left for a reason that is given
    #[arg(long)]
    forwarded: bool,
    /// Only frames that came by these ports: separated by commas, or each with a --port of its own
    #[arg(long = "port", value_name = "NAME,...", value_delimiter = ',')]
    ports: Vec<String>,
    /// End after N frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Keep so many bytes of each
    #[arg(long, value_name = "BYTES", default_value = "256",
          value_parser = size(64, u64::from(LONGEST_SNAP), 1))]
    snap: u64,
    /// Look at one frame in N, by chance, of all that come
    #[arg(long, value_name = "1:N", default_value = "1:1", value_parser = sample)]
    sample: u32,
    /// Write pcapng into FILE; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    write: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
}

/// How long the router may take until programs show frames: a filter may take the verifier long.
const LOADING: Duration = Duration::from_mins(2);
/// How often frames are fetched.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    host::cleanup::on_signal()?;
    let filter = match &arguments.program {
        Some(file) => Some(filter::read(file)?),
        None => filter::compile(&arguments.filter)?,
    };
    let request = request(arguments, filter.as_ref());
    let socket = arguments.which.socket();
    let mut stream = router::management_plane::client::connect(&socket)?;
    writeln!(stream, "{}", request.line())?;
    let mut channel = Channel::new(stream)?;
    let mut output = Output::open(arguments)?;
    let (started, descriptors) = channel.hear::<Started>(LOADING)?;
    let [ring, counts] = <[_; 2]>::try_from(descriptors)
        .map_err(|_| "the router has sent no frames; use the corelane of its version")?;
    let mut capture = Capture {
        frames: Frames::new(ring, counts, bpf::map::possible_cpus()?)?,
        filter,
        ways: Ways::new(socket),
        ports: BTreeMap::new(),
        told: 0,
        lost: 0,
        limit: arguments.count.unwrap_or(u64::MAX),
    };
    capture.learn(&started);
    output.flush()?;
    report::hint(&begun(&started, request.filter.is_some()));
    let outcome = capture.follow(&mut channel, &mut output);
    drop(channel);
    let counted = capture.frames.counted();
    report::hint(&summary(capture.told, counted));
    outcome.map(|()| ExitCode::SUCCESS)
}

fn request(arguments: &Arguments, filter: Option<&Filter>) -> Request {
    let all = arguments.reasons.is_empty() && !arguments.forwarded;
    let reasons = if all { Reason::ALL } else { &arguments.reasons };
    // What is found out behind the program is not asked for with all others.
    let shown = |reason: &&Reason| !all || reason.is_shown();
    let reasons = reasons.iter().filter(shown);
    Request {
        reasons: reasons.map(|reason| reason.name().to_owned()).collect(),
        forwarded: all || arguments.forwarded,
        ports: arguments.ports.clone(),
        every: arguments.sample,
        snap: arguments.snap as u16,
        filter: filter.map(|filter| {
            let instructions = filter.instructions().iter();
            instructions
                .map(|one| (one.code, one.then, one.otherwise, one.k))
                .collect()
        }),
    }
}

/// Frames as they come.
struct Capture {
    frames: Frames,
    /// The kernel does most of it, or nothing.
    filter: Option<Filter>,
    ways: Ways,
    /// By place.
    ports: BTreeMap<usize, StartedPort>,
    told: u64,
    /// So many were lost when that was told last.
    lost: u64,
    limit: u64,
}

impl Capture {
    fn learn(&mut self, started: &Started) {
        for (port, why) in &started.failed {
            report::hint(&format!("port {port} shows nothing: {why}"));
        }
        let ports = started.ports.iter();
        self.ports = ports.map(|port| (port.place, port.clone())).collect();
    }

    /// Tells all frames until there are enough, or a signal comes, or nobody reads any more.
    fn follow(
        &mut self,
        channel: &mut Channel,
        output: &mut Output,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        loop {
            let heard = channel.heard::<Started>();
            // The last frames are there, whatever ended the capture.
            let enough = match self.fetch(output) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                outcome => outcome?,
            };
            if enough || host::interrupted() {
                return Ok(());
            }
            match heard {
                Ok(Some((started, _))) => self.learn(&started),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err("the router has ended: start it again, and capture then".into());
                }
                Err(error) => return Err(error.into()),
            }
            let mut polls = [PollFd::new(&*channel, PollFlags::IN)];
            // A signal is looked for in the next turn.
            let _signal = poll(&mut polls, Timespec::try_from(PAUSE).ok().as_ref());
        }
    }

    /// Tells the frames that are there. True when there are enough.
    fn fetch(&mut self, output: &mut Output) -> io::Result<bool> {
        let epoch = since_1970();
        let lost = self.frames.counted().lost;
        let mut newly_lost = lost - self.lost;
        self.lost = lost;
        while self.told < self.limit {
            let Some(shown) = self.frames.next_frame() else {
                break;
            };
            let passes = |filter: &Filter| filter.passes(shown.bytes, shown.length);
            if self.filter.as_ref().is_some_and(|filter| !passes(filter)) {
                continue;
            }
            let lost = std::mem::take(&mut newly_lost);
            let frame = Frame::of(&shown, epoch, &self.ports, &mut self.ways, lost);
            output.frame(&frame, &shown)?;
            self.told += 1;
        }
        output.flush()?;
        Ok(self.told >= self.limit)
    }
}

/// What the monotonic clock's zero was, since 1970.
fn since_1970() -> Duration {
    let of = |clock| {
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
    };
    of(ClockId::Realtime).saturating_sub(of(ClockId::Monotonic))
}

/// Where frames are shown, and what filters them.
fn begun(started: &Started, has_filter: bool) -> String {
    let shows = started.ports.iter().filter(|port| port.shows);
    let names: Vec<&str> = shows.map(|port| port.name.as_str()).collect();
    let filter = match (has_filter, started.filtered) {
        (false, _) => "",
        (true, true) => "; the filter runs in the kernel",
        (true, false) => {
            "; the filter runs here: the kernel refuses it, and every frame comes here"
        }
    };
    format!("capturing on {}{filter}; Ctrl-C ends it", names.join(", "))
}

fn summary(told: u64, counted: Counted) -> String {
    let lost = counted.lost;
    let remedy = if lost > 0 {
        "; fewer are with a filter, --reason, --sample or a shorter --snap"
    } else {
        ""
    };
    format!("{told} frames captured; {lost} found no room{remedy}")
}

fn known(name: &str) -> Result<Reason, String> {
    reason(name).ok_or_else(|| {
        let all: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        format!("known are {}", all.join(", "))
    })
}

fn sample(text: &str) -> Result<u32, String> {
    let every = text.strip_prefix("1:").and_then(|every| every.parse().ok());
    every
        .filter(|every| (1..=1_000_000_000).contains(every))
        .ok_or_else(|| "give 1:N, one in N, with N from 1 to 1000000000".to_owned())
}
