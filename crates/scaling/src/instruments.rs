//! What the kernel and the machine say beside the clock: events, interrupts, the ceiling of the
//! memory, and what could not be read.

use crate::cause::counters::{Counters, Inflation, inflation};
use crate::cause::pressure::working_set;
use crate::harness::keeper::Outcome;
use crate::harness::sweep::Sweep;
use crate::investigate::Findings;

/// What the kernel counted during the sweep, name and value.
pub fn readings(
    swept: &Sweep,
    interrupts: &[(String, u64)],
    counters: Option<&Inflation>,
    most: u32,
) -> Vec<(String, String)> {
    let mut readings = Vec::new();
    let mut add = |name: &str, value: String| readings.push((name.to_owned(), value));
    let (one, many) = (&swept.trial_one, &swept.trial_many);
    if let (Some(one), Some(many)) = (one.migrations, many.migrations) {
        let value = format!("{one} on one core pinned, {many} on {most} free");
        add("moves from core to core in a run", value);
    }
    let switches = |o: &Outcome| {
        let (waiting, forced) = (o.voluntary_switches, o.involuntary_switches);
        format!("{waiting} for waiting, {forced} forced")
    };
    add(
        "context switches in a run",
        format!(
            "{} on one core; {} on {most}",
            switches(one),
            switches(many)
        ),
    );
    add(
        "page faults in a run",
        format!(
            "{} on one core, {} on {most}; from files {} and {}",
            one.minor_faults, many.minor_faults, one.major_faults, many.major_faults
        ),
    );
    if let Some(parts) = counters {
        let [work, stalls, clock] = [parts.instructions, parts.stalls, parts.clock].map(f64::exp);
        add(
            "dearer work by hardware counters",
            format!(
                "factor {work:.3} by instructions, {stalls:.3} by stalls, {clock:.3} by the clock"
            ),
        );
    }
    for (name, count) in interrupts.iter().take(6) {
        let rate = *count as f64 / swept.seconds.max(1e-9);
        add(
            &format!("{name} on the sweep's cores"),
            format!("{rate:.0} a second"),
        );
    }
    readings
}

/// The dearer work by hardware counters, where the machine has them.
pub fn counted(swept: &Sweep) -> Option<Inflation> {
    let counters = |outcome: &Outcome| {
        Some(Counters {
            instructions: outcome.instructions? as f64,
            cycles: outcome.cycles? as f64,
            cpu: (outcome.user + outcome.system).as_secs_f64(),
        })
    };
    inflation(&counters(&swept.trial_one)?, &counters(&swept.trial_many)?)
}

/// What was found by looking for the cause, name and value.
pub fn found(found: &Findings) -> Vec<(String, String)> {
    let mut readings = Vec::new();
    let mut add = |name: &str, value: String| readings.push((name.to_owned(), value));
    let cores = found.cores;
    if let Some(queued) = found.watched.queued {
        add(
            "ready to run without a core",
            format!(
                "{:.1} ms over all tasks of a run of {:.1} ms on {cores} cores",
                queued * 1e3,
                found.seconds * 1e3
            ),
        );
    }
    if let Some(stalled) = found.watched.pressure {
        add(
            "machine under pressure in that run",
            format!(
                "some task held up {:.0} % of the time for a core, {:.0} % for memory, {:.0} % \
                 for input or output",
                stalled.cpu * 100.0,
                stalled.memory * 100.0,
                stalled.io * 100.0
            ),
        );
    }
    if let Some(clock) = found.clock {
        add(
            "clock with all cores busy",
            format!("{clock:.3} of that of one core alone"),
        );
    }
    let ceiling = found.ceiling;
    add(
        "memory bandwidth ceiling (reads)",
        format!(
            "{:.1} GB/s for one core, {:.1} GB/s for {} ({:.2} times)",
            ceiling.one / 1e9,
            ceiling.all / 1e9,
            ceiling.cores,
            ceiling.all / ceiling.one
        ),
    );
    if let Some(traffic) = found.traffic {
        let share = traffic.in_readers().map_or_else(
            || {
                "two readers do not disturb each other, so its share cannot be told this way"
                    .to_owned()
            },
            |readers| {
                let rate = readers * ceiling.one;
                format!(
                    "about {:.1} GB/s, {:.0} % of the ceiling",
                    rate / 1e9,
                    rate / ceiling.all * 100.0
                )
            },
        );
        add(
            "the command's share of it",
            format!(
                "{share} (a reader beside it keeps {:.0} % of its rate, beside a reader {:.0} %)",
                traffic.beside_command * 100.0,
                traffic.beside_reader * 100.0
            ),
        );
    }
    if !found.pressure.is_empty() {
        let words = match working_set(&found.pressure) {
            Some((from, to)) if to - from < 1.0 => format!(
                "{:.0} to {:.0} % of it, on one core",
                from * 100.0,
                to * 100.0
            ),
            Some(_) => "felt when all of it is taken; smaller doses were not tried".to_owned(),
            None => {
                "none that is felt: the cache was taken away and nothing slowed down".to_owned()
            }
        };
        add("working set in the last-level cache", words);
    }
    if let Some(profile) = &found.profile {
        const SENTENCES: usize = 4;
        let first = &profile.sentences[..profile.sentences.len().min(SENTENCES)];
        add("profiler", first.join(" "));
    }
    readings
}

/// What a reader might look for and does not find here, with the reason.
pub fn not_measured(swept: &Sweep, found: Option<&Findings>, most: u32) -> Vec<String> {
    let mut missing = Vec::new();
    let mut lacks = |lacks: bool, what: &str| missing.extend(lacks.then(|| what.to_owned()));
    lacks(
        swept.trial_one.instructions.is_none(),
        "instructions and stalls of the program (no hardware counters here)",
    );
    lacks(
        swept.trial_one.migrations.is_none(),
        "moves from core to core (the kernel does not let this user count events; see \
         perf_event_paranoid)",
    );
    let runs = || swept.series.iter().flat_map(|s| s.rounds.iter().flatten());
    lacks(
        runs().any(|run| run.wall < 0.2),
        "how much of the loss is the hypervisor's (runs shorter than 0.2 s)",
    );
    lacks(
        runs().any(|run| run.wall < 0.02),
        "disturbance by other programs and the hypervisor (runs shorter than 20 ms)",
    );
    let s = if most == 1 { "" } else { "s" };
    lacks(
        most < 5,
        &format!("a peak, and contention apart from coherency ({most} core{s})"),
    );
    lacks(
        found.is_none(),
        "why cores idled and what made the work dearer (--cause looks with the profiler and \
         presses on each shared resource)",
    );
    if let Some(found) = found {
        for refused in &found.refused {
            lacks(true, refused);
        }
        lacks(
            found.watched.queued.is_none(),
            "time spent ready to run without a core (this kernel has no /proc/PID/schedstat)",
        );
        lacks(
            found.watched.pressure.is_none(),
            "pressure on the machine (this kernel has no /proc/pressure)",
        );
    }
    missing
}
