//! The simulation of the robot with two arms: a loop that must not miss a beat while the machine
//! does other things.

use std::time::Duration;

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::other_load::{Duty, OtherLoad, compute, log, network, timer};
use super::periodic::{Periodic, run, steps};
use super::{Kind, Workload};

/// The periodic loop.
pub const CONTROL_LOOP: Workload = Workload {
    name: "control-loop",
    sentence: "Runs a loop every millisecond at high priority on its own core, while logging, \
               network traffic and computing run elsewhere or there.",
    then: "two threads at priority 63 on processors two and three of four: no loop missed as far \
           as could be measured",
    kind: Kind::Experiment {
        run: control_loop,
        planned: |bench| planned(bench, 4),
    },
};

/// The same loop under interrupts.
pub const INTERRUPTS: Workload = Workload {
    name: "interrupts",
    sentence: "Runs the same loop while timer interrupts and network softirqs arrive on its own \
               core, then on another.",
    then: "all interrupts were handled by the first processor and never affected the others as \
           far as could be measured",
    kind: Kind::Experiment {
        run: interrupts,
        planned: |bench| planned(bench, 3),
    },
};

const PERIOD: Duration = Duration::from_millis(1);
/// Time of a setting.
const TIME: Duration = Duration::from_millis(2400);

fn planned(bench: &Bench, settings: u32) -> Duration {
    bench.time(TIME) * settings
}

fn control_loop(bench: &Bench) -> Result<Findings, Unable> {
    let (other, own) = bench.two()?;
    let all = |core| vec![(log as Duty, core), (network, core), (compute, core)];
    compare(
        bench,
        &[
            ("no other load", "", vec![], true),
            (
                "other load on the other core",
                "none missed",
                all(other),
                true,
            ),
            ("other load on the same core", "", all(own), true),
            (
                "other load on the same core, normal priority",
                "",
                all(own),
                false,
            ),
        ],
    )
}

fn interrupts(bench: &Bench) -> Result<Findings, Unable> {
    let (other, own) = bench.two()?;
    let both = |core| vec![(timer as Duty, core), (network, core)];
    compare(
        bench,
        &[
            ("quiet", "", vec![], true),
            ("interrupts on another core", "no effect", both(other), true),
            ("interrupts on its own core", "", both(own), true),
        ],
    )
}

/// Its name, what the author saw, what runs beside the loop, whether the loop has priority.
type Setting<'a> = (&'a str, &'a str, Vec<(Duty, host::cores::CoreId)>, bool);

fn compare(bench: &Bench, settings: &[Setting]) -> Result<Findings, Unable> {
    let steps = steps(bench.last(), PERIOD / 5);
    let (_, own) = bench.two()?;
    let mut findings = Findings::of(&["missed", "late, median", "late, 99.9 %", "late, worst"]);
    let (mut words, mut periods) = (Vec::new(), None);
    for (name, then, duties, priority) in settings {
        let load = OtherLoad::start(duties);
        let seen = run(
            Periodic {
                core: own,
                period: PERIOD,
                steps,
                time: bench.time(TIME),
                priority: *priority,
            },
            bench.interrupted,
        );
        drop(load);
        bench.go_on()?;
        if let Some(refused) = &seen.refused {
            findings.note(refused);
        }
        let [median, most, last] = seen.late.map(|late| format!("{late:.1} µs"));
        let missed = format!("{} of {}", seen.missed, seen.periods);
        findings.line(*name, *then, [missed, median, most, last]);
        findings.because(&seen.worst_cause);
        words.push(format!(
            "{name}: {} missed, worst {:.0} µs",
            seen.missed, seen.late[2]
        ));
        periods.get_or_insert(seen.periods);
    }
    findings.sentence = words.join("; ");
    let periods = periods.unwrap_or(0);
    findings.notes.push(format!(
        "{periods} periods a setting: what was not seen in them is rarer than {:.2} % (95 %).",
        300.0 / periods.max(1) as f64
    ));
    Ok(findings)
}
