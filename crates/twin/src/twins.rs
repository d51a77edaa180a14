//! Both beds and the router in one of them: a case runs here.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use crate::Error;
use crate::case::Case;
use crate::cause::{Cause, Signs};
use crate::frame::Macs;
use crate::half::{ANSWERED, ANSWERED_IN_DOUBT, Half, await_answers, wait};
use crate::kernel::crowding;
use crate::outcome::{Comparison, Difference, Exception, Limited, Originals, Outcome, compare};
use crate::program::{Program, Start};

/// What the router looks for by the clock, and looks at again after an announcement, it has seen
/// after so long and two more turns.
const LOOKED_FOR: Duration = Duration::from_millis(220);
/// The start of commands that the kernel announces, and that hold at the router's next turn.
const ANNOUNCED: [&str; 4] = ["ip addr ", "ip route ", "ip nexthop ", "ip neigh "];
/// Words of commands that a bed does not forget. Once a rule (the kernel's own, for VRFs, too) or a
/// local route has been added, the kernel validates sources more strictly for good
/// (`fib_has_custom_rules`, `fib_has_custom_local_routes`). A table of iptables stays at its hooks.
const MARKS: [&str; 4] = [" rule add ", " type vrf ", " local ", "tables-legacy "];
/// How much longer a case that differed is given.
pub(crate) const IN_DOUBT: Duration = Duration::from_secs(1);
/// How long nothing arrives when everything has arrived, in milliseconds.
const QUIET: u64 = 40;
/// The same while the outcomes differ.
const QUIET_IN_DOUBT: u64 = 150;
/// Bytes of a key that names a kind of message and no more.
const KIND: usize = 1;
/// The longest that frames may go on arriving.
const PATIENCE: Duration = Duration::from_secs(5);

/// What came of a case.
#[derive(Default)]
pub(crate) struct Compared {
    /// What differed twice.
    pub(crate) lasting: Vec<Difference>,
    /// What differed in one of two tries, and why.
    pub(crate) once: Vec<Difference>,
    pub(crate) cause: Option<Cause>,
    pub(crate) excused: BTreeMap<Exception, u64>,
}

impl Compared {
    /// Of two tries: no cause excuses what differs in both.
    fn of(first: Comparison, again: Comparison) -> Self {
        let numbers = |comparison: &Comparison| -> BTreeSet<u16> {
            let differences = comparison.differences.iter();
            differences.map(|one| one.number).collect()
        };
        let (before, after) = (numbers(&first), numbers(&again));
        let both = again.differences.into_iter();
        let (lasting, mut once): (Vec<_>, Vec<_>) =
            both.partition(|difference| before.contains(&difference.number));
        let others = first.differences.into_iter();
        once.extend(others.filter(|one| !after.contains(&one.number)));
        let cause = first.cause.or(again.cause).unwrap_or(Cause::Unexplained);
        Self {
            lasting,
            cause: (!once.is_empty()).then_some(cause),
            once,
            excused: first.excused,
        }
    }
}

/// The twin beds, laid, with a running router in the second.
pub struct Twins {
    kernel: Half,
    routed: Half,
    program: Option<Program>,
    start: Start,
    /// Frames that routers which have been ended forwarded themselves.
    forwarded: u64,
    /// What has come, in each bed, of messages of a limited rate: the kernels remember it.
    limited: [Limited; 2],
    /// Frames that the hosts' sockets had no room for.
    missed: u64,
    /// Frames for which there had been no room on the way when the last case began.
    no_room: u64,
    /// How crowded the machine's tables of neighbours had been when the last case began.
    crowding: u64,
    /// What was done in the beds that they keep for good, by its place in [`MARKS`].
    marks: u8,
    /// The last case had commands that are looked for by the clock.
    silent: bool,
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
            limited: Default::default(),
            missed: 0,
            no_room: 0,
            crowding: 0,
            marks: 0,
            silent: false,
        })
    }

    /// Hardware addresses of frames from each host.
    pub const fn macs(&self) -> [Macs; 3] {
        self.kernel.macs()
    }

    /// Whether the kernel has a kind of link; `added` says how host a adds one.
    pub(crate) fn has(&self, added: &str) -> bool {
        self.kernel.has(added)
    }

    /// Frames that the router has forwarded itself, in all cases.
    pub fn forwarded(&self) -> u64 {
        self.forwarded + self.program.as_ref().map_or(0, Program::forwarded)
    }

    /// Runs a case; where it differs, once more and slowly.
    pub(crate) fn compare(&mut self, case: &Case) -> Result<Compared, Error> {
        let first = self.run(case, Duration::ZERO)?;
        if first.differences.is_empty() {
            return Ok(Compared::of(first, Comparison::default()));
        }
        if first.cause == Some(Cause::Unlike) {
            self.lay_anew()?;
        }
        let again = self.run(case, IN_DOUBT)?;
        self.await_answers(ANSWERED);
        Ok(Compared::of(first, again))
    }

    /// Whether a case differs when the router has had some time to take it in.
    pub(crate) fn differs(&mut self, case: &Case, pause: Duration) -> Result<bool, Error> {
        let mut result = self.run(case, pause)?;
        if result.cause == Some(Cause::Unlike) {
            self.lay_anew()?;
            result = self.run(case, pause)?;
        }
        Ok(!result.differences.is_empty())
    }

    fn run(&mut self, case: &Case, pause: Duration) -> Result<Comparison, Error> {
        let marks = marks(&case.commands);
        if self.marks & !marks != 0 {
            self.lay_anew()?;
        }
        self.crowding = crowding();
        self.marks |= marks;
        if self.program.is_none() {
            self.routed.configure(&[])?;
            self.program = Some(Program::start(&self.start, &self.routed.router)?);
        }
        self.no_room = self.no_room()?;
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
        if !pause.is_zero() {
            self.await_answers(ANSWERED_IN_DOUBT);
        }
        thread::sleep(pause);
        // What messages were limited in this case, whoever got them, is known by their kind.
        for limited in &mut self.limited {
            limited.retain(|key| key.len() > KIND);
        }
        let announced = |line: &String| ANNOUNCED.iter().any(|start| line.starts_with(start));
        let silent = !case.commands.iter().all(announced);
        if silent || self.silent {
            thread::sleep(LOOKED_FOR);
        }
        self.silent = silent;
        self.turn();
        let mut comparison = self.pass(case)?;
        if comparison.differences.is_empty() {
            // Neighbours are resolved now: what the kernel had to answer can go the fast way.
            self.turn();
            let second = self.pass(case)?;
            comparison.differences = second.differences;
            comparison.cause = second.cause;
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

    fn await_answers(&self, longest: Duration) {
        await_answers(&self.kernel.router, longest);
        await_answers(&self.routed.router, longest);
    }

    fn lay_anew(&mut self) -> Result<(), Error> {
        let forwarded = self.forwarded();
        *self = Self::lay(self.start.clone())?;
        self.forwarded = forwarded;
        Ok(())
    }

    /// Waits until the router has taken in what was announced, and looked for what is due.
    fn turn(&self) {
        if let Some(program) = &self.program {
            program.turn();
        }
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
        let begin = Instant::now();
        for some in case.frames.chunks(32) {
            kernel.send(some)?;
            routed.send(some)?;
            hear(kernel, routed, &mut outcomes)?;
        }
        let mut slowest = begin.elapsed();
        let deadline = Instant::now() + PATIENCE;
        let (mut last, mut turn) = (Instant::now(), Instant::now());
        while Instant::now() < deadline {
            slowest = slowest.max(turn.elapsed());
            turn = Instant::now();
            if hear(kernel, routed, &mut outcomes)? {
                last = Instant::now();
                continue;
            }
            outcomes.iter_mut().for_each(Outcome::sort);
            let doubt = outcomes[0] != outcomes[1];
            let quiet = Duration::from_millis(if doubt { QUIET_IN_DOUBT } else { QUIET });
            if last.elapsed() >= quiet {
                let resolves =
                    |half: &mut Half| half.kernel().has_neighbour_in(libc::NUD_INCOMPLETE);
                if !resolves(kernel)? && !resolves(routed)? {
                    break;
                }
                last = Instant::now();
            }
            wait([&*kernel, &*routed], 10);
        }
        outcomes.iter_mut().for_each(Outcome::sort);
        for (limited, outcome) in self.limited.iter_mut().zip(&outcomes) {
            limited.extend(outcome.limited());
        }
        let [by_kernel, by_router] = &outcomes;
        let given_up =
            [kernel, routed].map(|half| half.kernel().has_neighbour_in(libc::NUD_FAILED));
        let [given_up, given_up_too] = given_up;
        let given_up = [given_up?, given_up_too?];
        let mut comparison = compare(case, by_kernel, by_router, &self.limited, given_up);
        if !comparison.differences.is_empty() {
            comparison.cause = self.signs(slowest)?.cause();
        }
        Ok(comparison)
    }

    /// Frames for which there was no room on the way, in both beds, so far.
    fn no_room(&mut self) -> Result<u64, Error> {
        let by_router = self.program.as_ref().map_or(0, Program::no_room);
        Ok(self.kernel.not_sent()? + self.routed.not_sent()? + by_router)
    }

    /// What the beds show; nobody listened to the hosts for `slowest`.
    fn signs(&mut self, slowest: Duration) -> Result<Signs, Error> {
        let missed = self.kernel.missed() + self.routed.missed();
        let before = std::mem::replace(&mut self.missed, missed);
        let no_room = self.no_room()?.saturating_sub(self.no_room);
        let (kernel, routed) = (&mut self.kernel, &mut self.routed);
        Ok(Signs {
            missed: missed.saturating_sub(before),
            ways: [kernel.ways()?, routed.ways()?],
            no_room,
            crowding: crowding().saturating_sub(self.crowding),
            neighbours: [kernel.kernel().neighbours()?, routed.kernel().neighbours()?],
            slowest,
        })
    }
}

/// What these commands do that their bed keeps.
fn marks(commands: &[String]) -> u8 {
    let done = |word: &str| commands.iter().any(|line| line.contains(word));
    let marks = MARKS.iter().enumerate().filter(|(_, word)| done(word));
    marks.fold(0, |marks, (place, _)| marks | 1 << place)
}

impl Drop for Twins {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
#[path = "../tests/unit/twins.rs"]
mod tests;
