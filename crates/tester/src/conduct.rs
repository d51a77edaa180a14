//! The traffic of a trial on its core, with what happens to the device beside it.

use host::{CoreId, Pinned};

use crate::clock::wait_until;
use crate::disturbance::{Disturbance, Watch};
use crate::rig::Event;

/// Runs the traffic of a trial on `core`, and says what disturbed it, `threads`, and the cores of
/// both; where nobody knows the device's threads, every core that this process may use.
pub(crate) fn conducted<R>(
    core: Option<CoreId>,
    event: Option<Event<'_>>,
    threads: &[u32],
    traffic: impl FnOnce() -> R,
) -> (R, Disturbance) {
    let allowed = host::allowed_cores().unwrap_or_else(|_| vec![CoreId(0)]);
    let pinned = core.and_then(|core| Pinned::to(core).ok());
    let cores = needed(pinned.as_ref().map(Pinned::core), &allowed, threads);
    let watch = Watch::new(&cores, threads);
    // Without a core of its own a trial is not measured by this machine's clock.
    let watch = match core {
        Some(_) => watch.with_lookers(),
        None => watch,
    };
    let ran = std::thread::scope(|scope| {
        if let Some(event) = event {
            let at = host::clock::now_ns() + event.at_ns;
            scope.spawn(move || {
                wait_until(at, host::interrupted);
                (event.action)();
            });
        }
        traffic()
    });
    (ran, watch.end())
}

/// The cores that a trial on `core` needs with these kernel threads, of those `allowed`.
fn needed(core: Option<CoreId>, allowed: &[CoreId], threads: &[u32]) -> Vec<CoreId> {
    let theirs = threads
        .iter()
        .flat_map(|&thread| host::cores::allowed_to(thread).unwrap_or_default());
    let mut cores: Vec<CoreId> = match core {
        Some(core) if !threads.is_empty() => theirs.chain([core]).collect(),
        _ => allowed.to_vec(),
    };
    cores.sort_unstable();
    cores.dedup();
    cores
}

#[cfg(test)]
#[path = "../tests/unit/conduct.rs"]
mod tests;
