//! The intervention on interrupts: the command on one core, with the device interrupts that can be
//! moved on that core or away.

use figures::Rounds;
use host::interrupts::Interrupts;

use super::plan::{Job, Placement};
use super::runs::{Runs, SweepError};
use crate::cause::intervention::Intervention;

/// Why interrupts were not moved, in words.
pub type Refused = String;

/// Runs `job` on its first core with the movable interrupts on that core and on the others, by
/// turns. The inner result is the refusal: no right, no second core, nothing that moves.
///
/// # Errors
/// When the command fails or hangs, and when interrupted.
pub fn move_interrupts(
    job: &Job,
    rounds: usize,
) -> Result<Result<Intervention, Refused>, SweepError> {
    let (own, others) = match job.order.split_first() {
        Some((own, others)) if !others.is_empty() => ([*own], others),
        _ => return Ok(Err("there is no second core to move them to".to_owned())),
    };
    let interrupts = Interrupts::take();
    if interrupts.is_empty() {
        return Ok(Err("none can be moved here: run as root, where the \
                       hypervisor lets them go"
            .to_owned()));
    }
    let mut runs = Runs::start(job, Placement::Pinned.on(1))?;
    // Away, away again as the control, and on the command's core.
    let mut seconds = Rounds::new(3, job.seed);
    let mut moved = 0;
    seconds.run(rounds, |place| {
        moved = interrupts.put(if place == 2 { &own } else { others });
        Ok::<_, SweepError>(runs.run()?.wall.as_secs_f64())
    })?;
    let over_away = |place| seconds.ratio(place, 0, f64::clone);
    Ok(Ok(Intervention::new(
        format!("{moved} device interrupts on the command's core instead of another"),
        &over_away(2),
        &over_away(1),
    )))
}
