//! The centre of differences that scatter evenly to both sides, with an interval that is exact
//! whatever their distribution.
//!
//! The estimate is that of Hodges and Lehmann (Annals of Mathematical Statistics 34, 1963): the
//! median of the means of all pairs. Its interval is what Wilcoxon's signed-rank test does not
//! reject. A few runs that were held up move neither much, and the scatter needs not be known.

use figures::{Estimate, Interval, median};

/// The interval misses the truth in this share of the cases at most. Half of what a calibration
/// accepts, because the share that it counts in a thousand cases scatters.
pub const MISSES: f64 = 0.005;
/// Differences below which no interval holds so much: of eight, all lie on one side by chance in one
/// case of 128.
pub const LEAST: usize = 9;

/// The centre of `differences`; `None` for fewer than [`LEAST`].
pub fn centre(differences: &[f64]) -> Option<Estimate> {
    let count = differences.len();
    if count < LEAST {
        return None;
    }
    let mut means: Vec<f64> = (0..count)
        .flat_map(|first| (first..count).map(move |second| (first, second)))
        .map(|(first, second)| f64::midpoint(differences[first], differences[second]))
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let outside = critical(count, MISSES / 2.0);
    Some(Estimate {
        value: median(&means),
        interval: Interval::new(means[outside], means[means.len() - 1 - outside]),
    })
}

/// The largest sum of ranks that is rejected as too small: sums up to it come by chance with at
/// most this `share`. 0 where even that is more likely.
fn critical(count: usize, share: f64) -> usize {
    let most = count * (count + 1) / 2;
    // The probability of each sum: every rank counts or not, with even chances.
    let mut chance = vec![0.0; most + 1];
    chance[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..=most).rev() {
            let with = sum.checked_sub(rank).map_or(0.0, |without| chance[without]);
            chance[sum] = f64::midpoint(chance[sum], with);
        }
    }
    let mut below = 0.0;
    let rejected = chance.iter().take_while(|&&own| {
        below += own;
        below <= share
    });
    rejected.count().saturating_sub(1)
}

#[cfg(test)]
#[path = "../../tests/unit/signed_rank.rs"]
mod tests;
