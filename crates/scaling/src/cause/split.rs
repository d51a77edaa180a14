//! The exact split of lost efficiency.
//!
//! With wall time `T`, CPU time `W = user + system` of the whole process tree, `N` cores and steal
//! time `Z`:
//!
//! `E(N) = [busy(N) / busy(1)] * [own(N) / own(1)] * [W(1) / W(N)]`
//!
//! where `own = 1 - Z / (N T)` is the share of the cores' time that the hypervisor left to us and
//! `busy = W / (N T - Z)` the share of that time in which the program ran. The first factor is
//! structure (serial phases, imbalance, waiting), the second the neighbours on the host, the third
//! dearer work: the same job costs more CPU time. Logarithms make the product a sum, so shares of
//! `ln E` add to 100 % whatever the numbers are.

use figures::median;
use serde::{Deserialize, Serialize};

use super::blame::{IDLE, STEAL, SYSTEM, USER};

/// What one setting cost. For copies, `work` is their number; for one job it is 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Cores the setting had.
    pub cores: u32,
    /// Units of work done.
    pub work: f64,
    /// Wall time, seconds.
    pub wall: f64,
    /// User CPU time of the process tree, seconds.
    pub user: f64,
    /// System CPU time of the process tree, seconds.
    pub system: f64,
    /// Time the hypervisor took from these cores, seconds, summed over the cores.
    pub steal: f64,
}

impl Cost {
    /// CPU time of the process tree, seconds.
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }

    fn capacity(&self) -> f64 {
        f64::from(self.cores) * self.wall
    }

    /// Share of the cores' time left by the hypervisor.
    pub fn own(&self) -> f64 {
        1.0 - self.steal / self.capacity()
    }

    /// Share of the time left by the hypervisor in which the program ran.
    pub fn busy(&self) -> f64 {
        self.cpu() / (self.capacity() - self.steal)
    }
}

/// The natural logarithms whose sum is `ln E`. Negative is loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Split {
    /// `ln E`, relative to one core.
    pub total: f64,
    /// Cores stood idle.
    pub idle: f64,
    /// The hypervisor gave the cores to others.
    pub steal: f64,
    /// The same work took more user time: memory stalls, shared execution units, spinning, a lower
    /// clock.
    pub user: f64,
    /// The same work took more system time: kernel locks, page faults, interprocessor interrupts.
    pub system: f64,
}

/// Splits the efficiency of `many` against `one`. `None` when a wall or CPU time is not above 0, or
/// steal exceeds the time there was: clock ticks too coarse for a run that short.
pub fn split(one: &Cost, many: &Cost) -> Option<Split> {
    for cost in [one, many] {
        let sound = cost.wall > 0.0
            && cost.cpu() > 0.0
            && cost.work > 0.0
            && cost.own() > 0.0
            && cost.steal >= 0.0;
        if !sound {
            return None;
        }
    }
    let rate = |cost: &Cost| cost.work / cost.capacity();
    let (user_one, user_many) = (one.user / one.work, many.user / many.work);
    let (cpu_one, cpu_many) = (one.cpu() / one.work, many.cpu() / many.work);
    // ln(a/b) = (a - b) / L(a, b) with L the logarithmic mean, so the growth of W divides over its
    // parts exactly.
    let mean = logarithmic_mean(cpu_one, cpu_many);
    let user = (user_one - user_many) / mean;
    let system = (one.system / one.work - many.system / many.work) / mean;
    Some(Split {
        total: (rate(many) / rate(one)).ln(),
        idle: (many.busy() / one.busy()).ln(),
        steal: (many.own() / one.own()).ln(),
        user,
        system,
    })
}

/// `(a - b) / (ln a - ln b)`, and `a` where both are equal.
fn logarithmic_mean(a: f64, b: f64) -> f64 {
    let difference = (a / b).ln();
    if difference.abs() < 1e-9 {
        f64::midpoint(a, b)
    } else {
        (a - b) / difference
    }
}

/// The split of the median round: its whole is the logarithm of the median efficiency, and its
/// parts add up to that. They are means over the middle half of the rounds, where the rounds below
/// the median and those above it weigh as much as gives the median. `None` without a round.
pub fn median_split(rounds: &[Split]) -> Option<Split> {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(|a, b| a.total.total_cmp(&b.total));
    let quarter = sorted.len() / 4;
    let middle = &sorted[quarter..sorted.len() - quarter];
    let below = mean(&middle[..middle.len().div_ceil(2)])?;
    let above = mean(&middle[middle.len() / 2..])?;
    let total = median(sorted.iter().map(Split::efficiency)).ln();
    let weight = if above.total > below.total {
        ((total - below.total) / (above.total - below.total)).clamp(0.0, 1.0)
    } else {
        0.5
    };
    let between = |part: fn(&Split) -> f64| part(&below) + weight * (part(&above) - part(&below));
    Some(Split {
        total,
        idle: between(|s| s.idle),
        steal: between(|s| s.steal),
        user: between(|s| s.user),
        system: between(|s| s.system),
    })
}

/// Each part's mean.
fn mean(splits: &[Split]) -> Option<Split> {
    let count = splits.len() as f64;
    let mean = |part: fn(&Split) -> f64| splits.iter().map(part).sum::<f64>() / count;
    (!splits.is_empty()).then(|| Split {
        total: mean(|s| s.total),
        idle: mean(|s| s.idle),
        steal: mean(|s| s.steal),
        user: mean(|s| s.user),
        system: mean(|s| s.system),
    })
}

impl Split {
    /// The parts with their names, in the order of the terms above.
    pub const fn parts(&self) -> [(&'static str, f64); 4] {
        [
            (IDLE, self.idle),
            (STEAL, self.steal),
            (USER, self.user),
            (SYSTEM, self.system),
        ]
    }

    /// Efficiency, `exp(total)`.
    pub fn efficiency(&self) -> f64 {
        self.total.exp()
    }
}
