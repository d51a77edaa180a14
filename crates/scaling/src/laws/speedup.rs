//! The experimentally determined serial fraction.

/// Karp and Flatt's serial fraction `e(N) = (1/S - 1/N) / (1 - 1/N)` (CACM 33(5), 1990), which is
/// also `(N/S - 1) / (N - 1)`. `None` on one core, where nothing can be told.
///
/// With the universal scalability law inserted it is exactly `sigma + kappa N`: flat means a serial
/// share (Amdahl), rising means coherency, falling or negative means that more cores brought more
/// cache.
pub fn karp_flatt(speedup: f64, cores: u32) -> Option<f64> {
    let n = f64::from(cores);
    (cores > 1).then(|| (n / speedup - 1.0) / (n - 1.0))
}

#[cfg(test)]
#[path = "../../tests/unit/speedup.rs"]
mod tests;
