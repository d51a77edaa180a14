//! The traffic of a trial on its core, with what happens to the device beside it.

use host::{CoreId, Pinned};

use crate::clock::wait_until;
use crate::disturbance::{Disturbance, Watch};
use crate::rig::Event;

/// Runs the traffic of a trial on `core`, and says what disturbed it and `threads`.
pub(crate) fn conducted<R>(
    core: Option<CoreId>,
    event: Option<Event<'_>>,
    threads: &[u32],
    traffic: impl FnOnce() -> R,
) -> (R, Disturbance) {
    let pinned = core.and_then(|core| Pinned::to(core).ok());
    let cores = match &pinned {
        Some(pinned) => vec![pinned.core()],
        None => host::allowed_cores().unwrap_or_else(|_| vec![CoreId(0)]),
    };
    let watch = Watch::new(&cores, threads);
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
