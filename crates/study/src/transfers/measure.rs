//! Transfers, ground by ground: all devices of a ground are open at once, so that each round has a
//! transfer through each, and one ground's are gone before the next one's come.

use dut::between_hosts::{BetweenHosts, Sample};
use dut::error::Error;
use dut::kind::Kind;
use figures::Rounds;
use host::{CoreId, cleanup};
use report::Progress;

use super::plan::{Case, Pace, WARM_UP};
use super::{Transfers, rows};

/// Transfers every case through each of `kinds` that knows a network; `None` when none does.
///
/// # Errors
/// When the user interrupts. A device that cannot be opened, or a transfer that fails, is named in
/// [`Transfers::left_out`].
pub(crate) fn measure(
    kinds: &[Kind],
    cases: &[Case],
    cores: &[CoreId],
    pace: Pace,
    seed: u64,
) -> Result<Option<Transfers>, Error> {
    let kinds: Vec<Kind> = kinds
        .iter()
        .copied()
        .filter(|kind| kind.needs_root())
        .collect();
    if kinds.is_empty() {
        return Ok(None);
    }
    let mut transfers = Transfers {
        rounds: pace.rounds,
        trial_milliseconds: pace.trial.as_secs_f64() * 1e3,
        rows: Vec::new(),
        left_out: Vec::new(),
    };
    let rounds: usize = cases.iter().map(|&case| pace.rounds_of(case)).sum();
    let mut progress = Progress::new(rounds * kinds.len());
    for cases in cases.chunk_by(|one, other| one.ground == other.ground) {
        let ground = cases[0].ground;
        let mut devices: Vec<(&str, BetweenHosts)> = Vec::new();
        for kind in &kinds {
            cleanup::check()?;
            match BetweenHosts::open(*kind, ground.mtu, ground.offloads(), cores) {
                Ok(device) => devices.push((kind.engine(), device)),
                Err(error) => transfers.left_out.push(format!(
                    "No transfers through {} at MTU {}: {error}.",
                    kind.engine(),
                    ground.mtu
                )),
            }
        }
        let names: Vec<&str> = devices.iter().map(|(name, _)| *name).collect();
        for case in cases {
            let mut rounds: Rounds<Option<Sample>> = Rounds::new(devices.len(), seed);
            let mut failed: Vec<String> = Vec::new();
            let count = pace.rounds_of(*case);
            rounds.run(count, |index| {
                let (name, device) = &mut devices[index];
                let what = case.in_words();
                progress.step(&format!("{name}: {what}"));
                let sample = device.carry(case.transfer(), WARM_UP, pace.trial);
                // After Ctrl-C a transfer may fail in any way; the reason to name is the interrupt.
                cleanup::check()?;
                sample.map(Some).or_else(|error| {
                    failed.push(format!("{name}: {what}: {error}."));
                    Ok::<_, Error>(None)
                })
            })?;
            failed.sort_unstable();
            failed.dedup();
            transfers.left_out.extend(failed);
            let mut rows = rows(*case, &names, &rounds, seed);
            if count != pace.rounds {
                for row in &mut rows {
                    row.rounds = Some(count);
                }
            }
            transfers.rows.extend(rows);
        }
    }
    Ok(Some(transfers))
}
