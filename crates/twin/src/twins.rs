//! Both beds and the router in one of them: a case runs here.

use std::thread;
use std::time::{Duration, Instant};

use crate::Error;
use crate::case::Case;
use crate::frame::Macs;
use crate::half::{Half, wait};
use crate::outcome::{Comparison, Difference, Originals, Outcome, compare};
use crate::program::{Program, Start};

/// How long a configuration takes at most until it holds: what the kernel does not announce is
/// looked for five times a second.
const SETTLED: Duration = Duration::from_millis(250);
/// How long nothing arrives when everything has arrived, in milliseconds: an absent neighbour is
/// given up within 20 ms.
const QUIET: u64 = 40;
/// The same while the outcomes differ.
const QUIET_IN_DOUBT: u64 = 150;
/// The longest that frames may go on arriving.
const PATIENCE: Duration = Duration::from_secs(5);

/// The twin beds, laid, with a running router in the second.
pub struct Twins {
    kernel: Half,
    routed: Half,
    program: Option<Program>,
    start: Start,
    /// Frames that routers which have been ended forwarded themselves.
    forwarded: u64,
    /// The last case added policy rules.
    ruled: bool,
}

impl Twins {
    /// Lays both beds and starts the router.
    ///
    /// # Errors
    /// Without root or iproute2, or when the router does not start.
    pub fn lay(start: Start) -> Result<Self, Error> {
        let (kernel, routed) = (Half::lay()?, Half::lay()?);
        let program = Some(Program::start(&start, &routed.router)?);
        Ok(Self {
            kernel,
            routed,
            program,
            start,
            forwarded: 0,
            ruled: false,
        })
    }

    /// Hardware addresses of frames from host a.
    ///
    /// # Errors
    /// Never while the beds are there.
    pub fn macs(&self) -> Result<Macs, Error> {
        let (host, router) = self.kernel.macs()?;
        Ok(Macs { host, router })
    }

    /// Whether the kernel has VLAN devices.
    pub(crate) fn has_vlans(&self) -> bool {
        let add = "link add link r0 name r0.5 type vlan id 5";
        let able = self.kernel.router.ip(add).is_ok();
        let _ = self.kernel.router.ip("link del r0.5");
        able
    }

    /// Frames that the router has forwarded itself, in all cases.
    pub fn forwarded(&self) -> u64 {
        self.forwarded + self.program.as_ref().map_or(0, Program::forwarded)
    }

    /// Runs a case; where it differs, once more and slowly: only what differs twice counts. The
    /// second value says that something differed once.
    pub(crate) fn compare(&mut self, case: &Case) -> Result<(Comparison, bool), Error> {
        let first = self.run(case, SETTLED)?;
        if first.differences.is_empty() {
            return Ok((first, false));
        }
        let mut again = self.run(case, SETTLED * 4)?;
        let differed =
            |one: &Difference| first.differences.iter().any(|old| old.number == one.number);
        again.differences.retain(differed);
        let unsteady = again.differences.is_empty();
        Ok((again, unsteady))
    }

    /// Whether a case differs, tried once.
    pub(crate) fn differs(&mut self, case: &Case) -> Result<bool, Error> {
        Ok(!self.run(case, SETTLED)?.differences.is_empty())
    }

    fn run(&mut self, case: &Case, settled: Duration) -> Result<Comparison, Error> {
        if self.ruled {
            // The kernel validates sources more strictly for good once a rule has been added.
            let forwarded = self.forwarded();
            *self = Self::lay(self.start.clone())?;
            self.forwarded = forwarded;
        }
        self.ruled = case.commands.iter().any(|line| line.contains(" rule add "));
        if self.program.is_none() {
            self.routed.configure(&[])?;
            self.program = Some(Program::start(&self.start, &self.routed.router)?);
        }
        let (kernel, routed) = (&mut self.kernel, &mut self.routed);
        thread::scope(|scope| {
            let other = scope.spawn(|| kernel.configure(&case.commands));
            let mine = routed.configure(&case.commands);
            other.join().unwrap_or(Ok(())).and(mine)
        })?;
        for line in &case.commands {
            if line == "restart" {
                self.end();
                self.program = Some(Program::start(&self.start, &self.routed.router)?);
            } else if let Some(Ok(milliseconds)) = line.strip_prefix("wait ").map(str::parse) {
                thread::sleep(Duration::from_millis(milliseconds));
            }
        }
        thread::sleep(settled);
        let mut comparison = self.pass(case)?;
        if comparison.differences.is_empty() {
            // Neighbours are resolved now: what the kernel had to answer can go the fast way.
            let second = self.pass(case)?;
            comparison.differences = second.differences;
        }
        if let Some(words) = self.program.as_mut().and_then(Program::ended) {
            self.program = None;
            comparison.differences.push(Difference {
                number: 0,
                kernel: Vec::new(),
                router: vec![format!("the router ended: {words}")],
            });
        }
        Ok(comparison)
    }

    fn end(&mut self) {
        self.forwarded = self.forwarded();
        if let Some(program) = self.program.take() {
            program.end();
        }
    }

    /// Sends the frames in both beds and waits for what comes.
    fn pass(&mut self, case: &Case) -> Result<Comparison, Error> {
        let originals = Originals::of(case);
        let (kernel, routed) = (&mut self.kernel, &mut self.routed);
        let mut outcomes = [Outcome::default(), Outcome::default()];
        for half in [&mut *kernel, &mut *routed] {
            half.hear(|_, _| {})?;
        }
        let hear = |kernel: &mut Half, routed: &mut Half, outcomes: &mut [Outcome; 2]| {
            let mut heard = false;
            for (half, outcome) in [kernel, routed].into_iter().zip(outcomes) {
                half.hear(|place, frame| heard |= outcome.note(place, frame, &originals))?;
            }
            Ok::<bool, Error>(heard)
        };
        for some in case.frames.chunks(32) {
            kernel.send(some)?;
            routed.send(some)?;
            hear(kernel, routed, &mut outcomes)?;
        }
        let deadline = Instant::now() + PATIENCE;
        let mut last = Instant::now();
        while Instant::now() < deadline {
            if hear(kernel, routed, &mut outcomes)? {
                last = Instant::now();
                continue;
            }
            outcomes.iter_mut().for_each(Outcome::sort);
            let doubt = outcomes[0] != outcomes[1];
            let quiet = Duration::from_millis(if doubt { QUIET_IN_DOUBT } else { QUIET });
            if last.elapsed() >= quiet {
                break;
            }
            wait([&*kernel, &*routed], 10);
        }
        outcomes.iter_mut().for_each(Outcome::sort);
        let [by_kernel, by_router] = &outcomes;
        Ok(compare(case, by_kernel, by_router))
    }
}

impl Drop for Twins {
    fn drop(&mut self) {
        self.end();
    }
}
