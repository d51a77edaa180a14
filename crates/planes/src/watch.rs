//! What every core did during a piece of work, read from the kernel's own files.

use std::time::Instant;

use host::CoreId;
use host::observe::{Interrupts, Times};

use crate::result::CoreUse;

/// Runs `work` and reads what `cores` did meanwhile.
///
/// # Errors
/// Those of `work`.
pub(crate) fn watched<T, E>(
    cores: &[CoreId],
    work: impl FnOnce() -> Result<T, E>,
) -> Result<(T, Vec<CoreUse>), E> {
    let read = |core: &CoreId| (Times::now(&[*core]), Interrupts::now(&[*core]));
    let before: Vec<_> = cores.iter().map(read).collect();
    let begin = Instant::now();
    let done = work()?;
    let seconds = begin.elapsed().as_secs_f64();
    let uses = cores.iter().zip(before).map(|(core, (times, interrupts))| {
        let (later, later_interrupts) = read(core);
        let passed = times.until(&later);
        let total = (passed.busy + passed.idle + passed.steal).max(f64::MIN_POSITIVE);
        let grown = interrupts.until(&later_interrupts);
        let of = |kind: &str| {
            let of_kind = grown.iter().filter(|(name, _)| name.starts_with(kind));
            of_kind.map(|(_, count)| *count as f64).sum::<f64>() / seconds
        };
        CoreUse {
            core: core.0,
            busy: passed.busy / total,
            interrupt: passed.interrupt / total,
            interrupts_per_second: of("interrupt"),
            softirqs_per_second: of("softirq"),
            steal: passed.steal / total,
        }
    });
    Ok((done, uses.collect()))
}
