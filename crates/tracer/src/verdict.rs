//! The verdict: plain sentences with figures, and how far to believe them.

mod lock;
mod serial;

use std::fmt::Write as _;

pub use lock::title;
use lock::{contention, no_lock, prediction};
use report::units::Nanoseconds;
use serial::serial;

use crate::analyse::budget::{Budget, WaitFor};
use crate::analyse::classify::Class;
use crate::analyse::critical_path::Link;
use crate::analyse::locks::{ENOUGH_SAMPLES, Lock, Range};
use crate::analyse::spinning::certain;
use crate::analyse::{Analysis, interrupts};
use crate::threads::Role;
use crate::trace::Trace;

/// What the analyses come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Plain sentences, the most important first.
    pub sentences: Vec<String>,
    /// False when there is too little to judge by; the sentences say what to record next.
    pub enough: bool,
    /// The share of the program's work that only one core can do, and where it lies.
    pub serial_fraction: Option<(f64, Range)>,
    /// Why that share is not told, where it is not.
    pub serial_untold: Option<String>,
    /// The most that any number of cores can give, as a multiple of one core.
    pub ceiling: Option<f64>,
    /// The share of core time that is not explained.
    pub unexplained: f64,
    /// The locks to blame: indices into the analysis' locks.
    pub blamed: Vec<usize>,
}

/// Less of the window than this in core time is no evidence.
const LEAST_WALL: u64 = 10_000_000;
/// Less of the program's own time than this is no evidence.
const LEAST_PROGRAM: u64 = 1_000_000;
/// A lock is blamed when it leaves this part of a core idle...
const BLAME_CORES: f64 = 0.03;
/// ...or when threads stand before it for this share of the time.
const BLAME_SHARE: f64 = 0.05;
/// Fewer waits than this are no evidence.
const ENOUGH_WAITS: u64 = 20;
/// A change of throughput smaller than this is lost in the noise of two runs.
const LEAST_GAIN: f64 = 1.03;
/// Cores taken by others: below this it is the ordinary noise of a machine.
const NOTICEABLE: f64 = 0.05;
/// When one thread alone ran for this share of the program's time while another waited for a
/// signal, the serial share is not known.
const UNTOLD: f64 = 0.05;
/// When threads were ready and had no core, for others, for this share of the program's time, it is
/// not known which would meet at a lock.
const HIDDEN: f64 = 0.25;
/// Parts of a core smaller than this are not worth a word.
const WORTH_SAYING: f64 = 0.01;

/// Judges.
pub fn verdict(trace: &Trace, analysis: &Analysis) -> Verdict {
    let budget = &analysis.budget;
    let mut verdict = Verdict::default();
    let total = (budget.wall * budget.cores).max(1) as f64;
    verdict.unexplained = budget.unknown as f64 / total;
    if budget.wall < LEAST_WALL || budget.program < LEAST_PROGRAM {
        verdict.sentences.push(too_little(trace, analysis));
        believe(trace, analysis, &mut verdict);
        return verdict;
    }
    verdict.enough = true;
    verdict.blamed = blamed(&analysis.locks, budget.cores_used());
    match serial(analysis) {
        Ok(range) => {
            verdict.serial_fraction = Some((range.middle(), range));
            verdict.ceiling = Some(1.0 / range.low);
        }
        Err(why) => verdict.serial_untold = Some(why),
    }
    used(analysis, &mut verdict);
    for index in verdict.blamed.clone() {
        let lock = &analysis.locks[index];
        verdict.sentences.push(contention(lock, &analysis.timeline));
        verdict.sentences.push(prediction(lock));
    }
    let polled = polling(analysis);
    let untold = turns(analysis).or_else(|| waited_unseen(analysis));
    let untold = untold.or_else(|| hidden(analysis).filter(|_| verdict.blamed.is_empty()));
    if verdict.blamed.is_empty() && polled.is_none() && untold.is_none() {
        verdict.sentences.push(no_lock(&analysis.locks));
    }
    verdict.sentences.extend(polled);
    verdict.sentences.extend(untold);
    starvation(budget, &mut verdict);
    limit(analysis, &mut verdict);
    surroundings(analysis, &mut verdict);
    believe(trace, analysis, &mut verdict);
    verdict
}

fn too_little(trace: &Trace, analysis: &Analysis) -> String {
    let budget = &analysis.budget;
    let exit = if trace.trailer.exit.is_empty() {
        String::new()
    } else {
        format!("It ended with {}. ", trace.trailer.exit)
    };
    format!(
        "Not enough evidence: the program ran for {} in a window of {}. {exit}Record a longer run \
         (`corelane trace record -- COMMAND`), or a running process with --pid and --seconds.",
        Nanoseconds(budget.program),
        Nanoseconds(budget.wall)
    )
}

fn blamed(locks: &[Lock], cores_used: f64) -> Vec<usize> {
    const MOST: usize = 3;
    let numbered = locks.iter().enumerate();
    let blamed = numbered.filter(|(_, lock)| matters(lock, cores_used));
    blamed.map(|(index, _)| index).take(MOST).collect()
}

/// A lock matters when waiting for it costs something whatever chance did, and when doing away with
/// it would be felt. A short window has few waits, so more of them is put down to chance.
fn matters(lock: &Lock, cores_used: f64) -> bool {
    let waits = &lock.waited.waits;
    // What threads waited while somebody else had the holder's core is not the lock's.
    let own = waits.certain() * lock.waited.behind.served();
    let costs = lock.cost.lost_cores * own >= BLAME_CORES
        || lock.cost.spinning * certain(lock.polls) >= BLAME_SHARE
        || lock.cost.contended_share.min(lock.cost.mean_waiters) * own >= BLAME_SHARE;
    let again_and_again = waits.count >= ENOUGH_WAITS;
    // The waiting, turned into work, is the most there is to gain; the prediction may say that it
    // is less.
    let bound = 1.0 + (lock.cost.mean_waiters + lock.cost.spinning) / cores_used.max(0.1);
    let gain = lock.gain.map_or(bound, |gain| gain.removed.high);
    // A kernel lock that one thread alone waits for serialises the program with somebody else, not
    // with itself.
    let between_its_own = !lock.class.is_kernel() || lock.waited.waiters().len() > 1;
    costs && again_and_again && between_its_own && bound >= LEAST_GAIN && gain >= LEAST_GAIN
}

fn used(analysis: &Analysis, verdict: &mut Verdict) {
    let budget = &analysis.budget;
    let used = budget.cores_used();
    let mut sentence = format!(
        "Of {} {} the program used {used:.2} for {}.",
        budget.cores,
        if budget.cores == 1 { "core" } else { "cores" },
        Nanoseconds(budget.wall)
    );
    let mut rest: Vec<(f64, String)> = Vec::new();
    for (reason, time) in &budget.waits {
        let cores = budget.in_cores(*time);
        rest.push((cores, format!("waited for {}", what(*reason, analysis))));
    }
    let mut part = |time: u64, words: &str| rest.push((budget.in_cores(time), words.to_owned()));
    part(
        budget.idle_waking,
        "idled while a thread was on its way to them",
    );
    part(
        budget.idle_design,
        "idled by design (the program had no further thread to run)",
    );
    part(budget.other, "ran other programs");
    part(budget.kernel, "ran kernel threads");
    part(budget.interrupts, "handled interrupts");
    part(budget.softirqs, "handled software interrupts");
    part(budget.recorder, "ran this recorder");
    part(budget.unknown, "are not explained");
    rest.retain(|(cores, _)| *cores >= WORTH_SAYING);
    rest.sort_by(|a, b| b.0.total_cmp(&a.0));
    if !rest.is_empty() {
        let list: Vec<String> = rest
            .iter()
            .take(6)
            .map(|(cores, words)| format!("{cores:.2} {words}"))
            .collect();
        let _ = write!(sentence, " Of the rest, {}.", list.join("; "));
    }
    verdict.sentences.push(sentence);
}

/// What an idle core waited for, in words.
pub fn what(reason: WaitFor, analysis: &Analysis) -> String {
    let object = |index: u32| {
        analysis
            .timeline
            .objects
            .get(index as usize)
            .map_or(0, |object| object.address)
    };
    match reason {
        WaitFor::Lock(index) => analysis
            .lock(index)
            .map_or_else(|| format!("a lock at {:#x}", object(index)), title),
        WaitFor::Signal(index) => format!(
            "a signal at {:#x} (condition variable, channel or semaphore)",
            object(index)
        ),
        WaitFor::Parking(_) => "parked threads (parking_lot or thread::park; the lock behind it \
                                has no address here)"
            .to_owned(),
        WaitFor::Time => "time to pass (sleeps)".to_owned(),
        WaitFor::Disk => "disks and pages".to_owned(),
        WaitFor::Network => "the network".to_owned(),
        WaitFor::Device => "devices".to_owned(),
        WaitFor::Thread => "messages of other threads (pipes, sockets, children)".to_owned(),
        WaitFor::Nothing => "nothing".to_owned(),
    }
}

/// A link of the path to the end, in words.
pub(crate) fn words(link: Link, analysis: &Analysis) -> String {
    let name = |tid| analysis.timeline.threads.name(tid);
    match link {
        Link::Ran(tid) => format!("{} ran", name(tid)),
        Link::NoCore(tid) => format!("{} had no core", name(tid)),
        Link::Waited(reason) => format!("waited for {}", what(reason, analysis)),
    }
}

/// The share of the program's time for which one thread ran alone while another waited for a
/// signal.
fn untold(analysis: &Analysis) -> f64 {
    analysis.turns.time() as f64 / analysis.budget.program.max(1) as f64
}

/// That threads took turns, where they did.
fn turns(analysis: &Analysis) -> Option<String> {
    let budget = &analysis.budget;
    let takers = match analysis.turns.takers(budget.program) {
        0 => return None,
        2 => "Two threads".to_owned(),
        more => format!("{more} threads"),
    };
    let place = match analysis.turns.places.first() {
        Some((place, _)) => format!("the place is `{place}`"),
        None => "record with --stacks to see the place".to_owned(),
    };
    Some(format!(
        "{takers} took turns: {:.1} of {} cores used; for {:.0} % of the program's time one ran \
         while another waited for its signal; {place}. No lock is seen at the words that they wait \
         at: it may be an interpreter's lock, or one whose threads park.",
        budget.cores_used(),
        budget.cores,
        untold(analysis) * 100.0
    ))
}

/// That it is not known whether threads waited for a lock.
fn waited_unseen(analysis: &Analysis) -> Option<String> {
    let share = untold(analysis);
    (share >= UNTOLD).then(|| {
        format!(
            "Whether a lock stands in the way is not known: for {:.0} % of the program's time one \
             thread ran while another waited for a signal. That may be a lock, a condition \
             variable, a channel or a parked thread.",
            share * 100.0
        )
    })
}

/// How many threads the program has.
fn own_threads(analysis: &Analysis) -> usize {
    let threads = analysis.timeline.threads.iter();
    threads.filter(|thread| thread.role == Role::Target).count()
}

/// That others had the cores for so long that threads seldom ran together.
fn hidden(analysis: &Analysis) -> Option<String> {
    let budget = &analysis.budget;
    let share = budget.starved as f64 / budget.program.max(1) as f64;
    (share >= HIDDEN && own_threads(analysis) > 1).then(|| {
        format!(
            "Whether a lock stands in the way is not known. Threads ran for {}, and were ready \
             without a core for {}. Those that do not run together meet at no lock.",
            Nanoseconds(budget.program),
            Nanoseconds(budget.starved)
        )
    })
}

/// That threads poll for locks that nothing names.
fn polling(analysis: &Analysis) -> Option<String> {
    let places = analysis.spinning.places();
    let time: f64 = places.iter().map(|(_, time)| time).sum();
    let threads = analysis.budget.in_cores(time as u64);
    let sure = threads * certain(analysis.spinning.unnamed_samples());
    if analysis.spinning.samples < ENOUGH_SAMPLES || sure < BLAME_SHARE {
        return None;
    }
    let within = places.iter().find(|(place, _)| !place.is_empty());
    let within = within.map_or(String::new(), |(place, _)| format!(", most in `{place}`"));
    Some(format!(
        "{threads:.2} threads on average polled for a lock without sleeping (by samples of the \
         running code){within}. Which lock it is cannot be told: no thread slept at it there. \
         Record with --stacks, so that more waits have a place."
    ))
}

fn starvation(budget: &Budget, verdict: &mut Verdict) {
    let cores = budget.in_cores(budget.starved);
    if cores < NOTICEABLE {
        return;
    }
    let list: Vec<String> = budget
        .thieves
        .iter()
        .filter(|(_, taken, _)| budget.in_cores(*taken) >= 0.005)
        .take(4)
        .map(|(name, taken, _)| format!("{name} {:.2}", budget.in_cores(*taken)))
        .collect();
    verdict.sentences.push(format!(
        "Starvation: threads of the program were ready and had no core while others ran on \
         {cores:.2} cores of theirs ({}). This is not a lock: give the program cores of its own.",
        list.join(", ")
    ));
}

fn limit(analysis: &Analysis, verdict: &mut Verdict) {
    if let (Some((fraction, at)), Some(ceiling)) = (verdict.serial_fraction, verdict.ceiling) {
        if own_threads(analysis) < 2 && at.low > 0.95 {
            verdict.sentences.push(
                "The program has one thread: a second core has nothing to do for it.".to_owned(),
            );
        } else {
            verdict.sentences.push(format!(
                "Serial fraction {fraction:.2} ({:.2} to {:.2}): no more than {ceiling:.1} times \
                 one core on any number of cores.",
                at.low, at.high
            ));
        }
    }
    if let Some(why) = &verdict.serial_untold {
        let sentence = format!("The serial fraction is not told: {why}.");
        verdict.sentences.push(sentence);
    }
    let total: u64 = analysis.path.iter().map(|(_, time)| time).sum();
    let list: Vec<String> = analysis
        .path
        .iter()
        .filter(|(_, time)| *time * 20 >= total)
        .take(4)
        .map(|(link, time)| {
            let share = *time as f64 / total.max(1) as f64 * 100.0;
            match link {
                Link::Waited(_) => format!("{share:.0} % {}", words(*link, analysis)),
                _ => format!("{} {share:.0} %", words(*link, analysis)),
            }
        })
        .collect();
    if list.len() > 1 {
        verdict
            .sentences
            .push(format!("On the path to the end: {}.", list.join(", ")));
    }
}

fn surroundings(analysis: &Analysis, verdict: &mut Verdict) {
    if let Some((cpu, share, of_core)) =
        interrupts::concentrated(&analysis.timeline, &analysis.interrupts)
    {
        verdict.sentences.push(format!(
            "Core {cpu} does {:.0} % of the interrupt work and spends {:.0} % of its time there. \
             Spread the queues' interrupts, or keep the program off that core.",
            share * 100.0,
            of_core * 100.0
        ));
    }
    let moves: u64 = analysis.migrations.iter().map(|moves| moves.moves).sum();
    let seconds = analysis.budget.wall as f64 / 1e9;
    if moves as f64 / seconds.max(1e-9) > 200.0 {
        verdict.sentences.push(format!(
            "Its threads changed cores {:.0} times a second ({} {:.0}): each time they begin with \
             cold caches; pin them.",
            moves as f64 / seconds,
            analysis.timeline.threads.name(analysis.migrations[0].tid),
            analysis.migrations[0].moves as f64 / seconds
        ));
    }
    for noise in analysis
        .noise
        .iter()
        .filter(|noise| noise.isolated && noise.times.count > 0)
    {
        verdict.sentences.push(format!(
            "Isolated core {} was disturbed {} times, {} at most, most by {}.",
            noise.cpu,
            noise.times.count,
            Nanoseconds(noise.times.longest),
            noise.by.first().map_or("nobody", |(name, ..)| name)
        ));
    }
}

fn believe(trace: &Trace, analysis: &Analysis, verdict: &mut Verdict) {
    let lost = trace.events_lost();
    let budget = &analysis.budget;
    let mut sentence = if lost == 0 {
        "No event was lost".to_owned()
    } else {
        let all = lost + trace.events.len() as u64;
        format!(
            "{lost} events ({:.1} %) were lost: waits and holds across the gaps are missing, so \
             every count is a lower bound. Record again with a larger --ring",
            lost as f64 / all as f64 * 100.0
        )
    };
    let _ = write!(
        sentence,
        "; {:.1} % of the core time is not explained; the recorder took {:.2} % of a core.",
        verdict.unexplained * 100.0,
        budget.in_cores(trace.trailer.recorder_time) * 100.0
    );
    let inferred = analysis.timeline.inferred;
    if inferred * 50 > analysis.timeline.switches {
        let _ = write!(
            sentence,
            " This kernel tells nothing of the idle threads of some cores: {inferred} starts of \
             threads on idle cores are inferred."
        );
    }
    if !trace.trailer.losses_counted {
        sentence.push_str(" This kernel does not count all losses (6.0 does).");
    }
    if analysis.classes.contains(&Class::Parking) && !trace.header.stacks {
        sentence.push_str(
            " Some threads wait on words of their own (parking): the locks behind them have no \
             address; record with --stacks to see the code places.",
        );
    }
    verdict.sentences.push(sentence);
    for missing in &trace.header.missing {
        if missing.contains("contention") || missing.contains("futex") {
            verdict.sentences.push(format!(
                "This kernel has no {missing}: such waits count as unknown."
            ));
            break;
        }
    }
    verdict.sentences.extend(trace.complaints.iter().cloned());
}
