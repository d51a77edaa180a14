//! What the kernel and the machine say beside the clock: events, interrupts, the ceiling of the memory, and what could not be read.

use crate::{
    cause::{
        counters::{Counters, inflation},
        pressure::Channel,
    },
    harness::{
        aggressor::{Aggressor, Caches},
        keeper::Outcome,
        sweep::{Run, Sweep},
    },
};
use host::cores::CoreId;
use std::time::Duration;

/// What the kernel counted during the sweep, name and value.
pub fn readings(swept: &Sweep, interrupts: &[(String, u64)], most: u32) -> Vec<(String, String)> {
    let mut readings = Vec::new();
    if let (Some(one), Some(many)) = (swept.trial_one.migrations, swept.trial_many.migrations) {
        readings.push((
            "moves from core to core in a run".to_owned(),
            format!("{one} on one core pinned, {many} on {most} free"),
        ));
    }
    let switches = |o: &Outcome| {
        format!(
            "{} for waiting, {} forced",
            o.voluntary_switches, o.involuntary_switches
        )
    };
    readings.push((
        "context switches in a run".to_owned(),
        format!(
            "{} on one core; {} on {most}",
            switches(&swept.trial_one),
            switches(&swept.trial_many)
        ),
    ));
    readings.push((
        "page faults in a run".to_owned(),
        format!(
            "{} on one core, {} on {most}; from files {} and {}",
            swept.trial_one.minor_faults,
            swept.trial_many.minor_faults,
            swept.trial_one.major_faults,
            swept.trial_many.major_faults
        ),
    ));
    if let Some(parts) = counted(swept) {
        readings.push(("dearer work by hardware counters".to_owned(), parts));
    }
    let seconds = swept.seconds.max(1e-9);
    for (name, count) in interrupts.iter().take(6) {
        readings.push((
            format!("{name} on the sweep's cores"),
            format!("{:.0} a second", *count as f64 / seconds),
        ));
    }
    readings
}

/// The split by hardware counters in words, where the machine has them.
fn counted(swept: &Sweep) -> Option<String> {
    let counters = |outcome: &Outcome| {
        Some(Counters {
            instructions: outcome.instructions? as f64,
            cycles: outcome.cycles? as f64,
            cpu: (outcome.user + outcome.system).as_secs_f64(),
        })
    };
    let parts = inflation(&counters(&swept.trial_one)?, &counters(&swept.trial_many)?)?;
    Some(format!(
        "factor {:.3} by instructions, {:.3} by stalls, {:.3} by the clock",
        parts.instructions.exp(),
        parts.stalls.exp(),
        parts.clock.exp()
    ))
}

/// What the memory gives at most, to one core and to all.
pub fn ceiling(cores: &[CoreId], caches: Caches) -> (String, String) {
    let together = |cores: &[CoreId]| -> f64 {
        let readers: Vec<Aggressor> = cores
            .iter()
            .map(|&core| Aggressor::start(Channel::MemoryReads, core, 1.0, caches))
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        readers.iter().map(Aggressor::rate).sum::<f64>() / 1e9
    };
    let (one, all) = (together(&cores[..1]), together(cores));
    (
        "memory bandwidth ceiling (reads)".to_owned(),
        format!(
            "{one:.1} GB/s for one core, {all:.1} GB/s for {} ({:.2} times)",
            cores.len(),
            all / one
        ),
    )
}

/// What a reader might look for and does not find here, with the reason.
pub fn not_measured(swept: &Sweep, pressed: bool, most: u32) -> Vec<String> {
    let mut missing = Vec::new();
    if swept.trial_one.instructions.is_none() {
        missing.push(
            "instructions, stalls and clock of the program, and its share of the memory bandwidth (no hardware counters here)".to_owned(),
        );
    }
    if swept.trial_one.migrations.is_none() {
        missing.push("moves from core to core (the kernel does not let this user count events; see perf_event_paranoid)".to_owned());
    }
    let runs = swept.series.iter().flat_map(|s| s.rounds.iter().flatten());
    if runs.map(|r: &Run| r.wall).fold(f64::INFINITY, f64::min) < 0.2 {
        missing.push(
            "steal by the hypervisor and disturbance by other programs (runs shorter than 0.2 s)"
                .to_owned(),
        );
    }
    if most < 5 {
        missing.push(format!(
            "a peak, and contention apart from coherency ({most} core{})",
            if most == 1 { "" } else { "s" }
        ));
    }
    if !pressed {
        missing.push(
            "which shared resource makes the work dearer (--cause presses on each)".to_owned(),
        );
    }
    missing.push(
        "time spent runnable but without a core (the kernel sums it for no process tree)"
            .to_owned(),
    );
    missing
}
