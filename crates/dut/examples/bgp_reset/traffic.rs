//! Frames at a steady rate, whatever else goes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastpath::generate::Generator;

use crate::Failure;

/// Pause between two looks at what is due.
const TICK: Duration = Duration::from_millis(1);
/// Most frames of one call: what was not sent in time is sent in parts.
const PART: u64 = 4096;

/// What `work` gives while `rate` frames a second are sent, and how many were.
pub(crate) fn while_sending<T>(
    generator: &mut Generator,
    rate: u32,
    work: impl FnOnce() -> T,
) -> Result<(T, u64), Failure> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let sender = scope.spawn(|| send(generator, rate, &stop));
        let given = {
            let _stop = Stop(&stop);
            work()
        };
        let sent = sender
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((given, sent))
    })
}

fn send(generator: &mut Generator, rate: u32, stop: &AtomicBool) -> Result<u64, Failure> {
    let (begun, mut sent) = (Instant::now(), 0);
    while !stop.load(Ordering::Relaxed) {
        let due = (begun.elapsed().as_secs_f64() * f64::from(rate)) as u64;
        let part = (due - sent).min(PART);
        if part > 0 {
            sent += u64::from(generator.send(part as u32)?);
        }
        thread::sleep(TICK);
    }
    Ok(sent)
}

/// Ends the sending, also when the work panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
