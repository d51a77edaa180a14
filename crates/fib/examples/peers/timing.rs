//! Passes over many addresses, and what one look-up of a pass takes.

use std::hint::black_box;
use std::time::Instant;

use fib::NextHop;

use crate::BURST;

/// Time-stamp counter, so that figures compare with those of `dpdk-test-fib`.
pub(crate) fn cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reading the time-stamp counter has no effect on memory.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return 0;
}

/// Prints median, lowest and highest nanoseconds, and median cycles, of one look-up over several
/// passes; returns the median.
pub(crate) fn print_rounds(what: &str, rounds: &mut [(f64, f64)]) -> f64 {
    rounds.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (ns, cycles) = rounds[rounds.len() / 2];
    let (low, high) = (rounds[0].0, rounds[rounds.len() - 1].0);
    println!("{what:34} {ns:7.2} ns ({low:.2} to {high:.2}) {cycles:6.1} cycles");
    ns
}

/// Nanoseconds and cycles of one look-up, all addresses looked up in bursts.
pub(crate) fn pass<A>(addresses: &[A], lookup: &dyn Fn(&[A], &mut [NextHop])) -> (f64, f64) {
    let mut out = [NextHop::NONE; BURST];
    let (started, first) = (Instant::now(), cycles());
    for addresses in addresses.chunks(BURST) {
        lookup(addresses, &mut out);
        black_box(&out);
    }
    let count = addresses.len() as f64;
    (
        started.elapsed().as_nanos() as f64 / count,
        (cycles() - first) as f64 / count,
    )
}
