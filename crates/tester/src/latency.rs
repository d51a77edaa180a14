//! One-way delay and its variation, from every frame that came.
//!
//! A delay runs from the moment the sender stamps a burst, before queueing it, to the moment the
//! receiver has taken a burst in: it is neither RFC 1242's first-in-first-out nor its
//! last-in-first-out, but *application to application, tester queueing included*. Lost frames have
//! no delay: percentiles are of the frames received, and the loss stands beside them.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longest delay told apart, ns: 100 s.
const LONGEST_NS: u64 = 100_000_000_000;
/// Frames of a stream whose neighbours may still come: 16 KiB.
const REMEMBERED: usize = 1024;
/// Samples that must lie beyond a percentile before it is printed.
pub const BEYOND: f64 = 10.0;
/// Percentiles of the report.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// The latest frames of a stream: variation is between consecutive frames of one stream (RFC 5481
/// §4.1), in whatever order they come.
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// Number and delay, by the number's last bits; numbers count from 1.
    recent: Vec<(u32, u64)>,
    /// Delay of the frame that came last.
    last: Option<u64>,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self {
            recent: vec![(0, 0); REMEMBERED],
            last: None,
        }
    }
}

impl Neighbours {
    fn delay_of(&self, sequence: u32) -> Option<u64> {
        let (number, delay) = self.recent[sequence as usize % REMEMBERED];
        (number == sequence && sequence > 0).then_some(delay)
    }

    fn keep(&mut self, sequence: u32, delay_ns: u64) {
        self.recent[sequence as usize % REMEMBERED] = (sequence, delay_ns);
    }
}

/// Delays while a trial runs. Three significant digits from 1 ns to 100 s.
#[derive(Debug, Clone)]
pub struct Delays {
    delay: Histogram<u64>,
    longer: Histogram<u64>,
    shorter: Histogram<u64>,
    previous: Option<u64>,
    jitter: f64,
    absolute: u128,
    variations: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Default for Delays {
    fn default() -> Self {
        Self::new()
    }
}

impl Delays {
    /// An empty record.
    ///
    /// # Panics
    /// Never: the bounds are constants that the histogram accepts.
    pub fn new() -> Self {
        let histogram = || {
            Histogram::new_with_bounds(1, LONGEST_NS, 3)
                .expect("constant bounds, 1 < 2 * 1 <= LONGEST_NS")
        };
        Self {
            delay: histogram(),
            longer: histogram(),
            shorter: histogram(),
            previous: None,
            jitter: 0.0,
            absolute: 0,
            variations: 0,
            sum: 0,
            least: u64::MAX,
            most: 0,
        }
    }

    /// Takes the delay of the next frame to arrive, number `sequence` of a stream, ns: with its
    /// variation against the frames before and behind it, as far as those have come.
    #[inline]
    pub fn take_of(&mut self, stream: &mut Neighbours, sequence: u32, delay_ns: u64) {
        self.take(delay_ns);
        if let Some(last) = stream.last.replace(delay_ns) {
            // RFC 3550 §6.4.1, which takes frames as they arrive.
            let difference = delay_ns.abs_diff(last) as f64;
            self.jitter += (difference - self.jitter) / 16.0;
        }
        if let Some(before) = stream.delay_of(sequence.wrapping_sub(1)) {
            self.vary(before, delay_ns);
        }
        if let Some(behind) = stream.delay_of(sequence.wrapping_add(1)) {
            self.vary(delay_ns, behind);
        }
        stream.keep(sequence, delay_ns);
    }

    /// Takes the delays of two consecutive frames.
    fn vary(&mut self, first_ns: u64, second_ns: u64) {
        let difference = second_ns.abs_diff(first_ns);
        let histogram = if second_ns >= first_ns {
            &mut self.longer
        } else {
            &mut self.shorter
        };
        histogram.saturating_record(difference);
        self.absolute += u128::from(difference);
        self.variations += 1;
    }

    /// How much later than the least delay the last frame came, ns: what a buffer on the way held.
    pub fn drain_ns(&self) -> Option<u64> {
        self.previous.map(|last| last.saturating_sub(self.least))
    }

    /// Longest delay so far, ns.
    pub fn longest_ns(&self) -> u64 {
        self.most
    }

    /// Takes the delay of the next frame to arrive, without its variation, ns.
    #[inline]
    pub fn take(&mut self, delay_ns: u64) {
        self.delay.saturating_record(delay_ns);
        self.sum += u128::from(delay_ns);
        self.least = self.least.min(delay_ns);
        self.most = self.most.max(delay_ns);
        self.previous = Some(delay_ns);
    }

    /// Takes a histogram made elsewhere (in the kernel): `buckets` of lowest value, highest value
    /// and count; the sum, least and most are exact. Variation is then known without its sign.
    pub fn take_histogram(
        &mut self,
        buckets: &[(u64, u64, u64)],
        sum: u128,
        least: u64,
        most: u64,
    ) {
        for &(low, high, count) in buckets {
            self.delay
                .saturating_record_n(low.midpoint(high).clamp(least, most), count);
        }
        self.sum += sum;
        self.least = self.least.min(least);
        self.most = self.most.max(most);
    }

    /// Takes the sizes of variation counted elsewhere, as [`Delays::take_histogram`].
    pub fn take_variations(&mut self, buckets: &[(u64, u64, u64)]) {
        for &(low, high, count) in buckets {
            self.absolute += u128::from(low.midpoint(high)) * u128::from(count);
            self.variations += count;
        }
    }

    /// What the report says, or `None` when no frame carried a time.
    pub fn summary(&self) -> Option<Latency> {
        let samples = self.delay.len();
        if samples == 0 {
            return None;
        }
        let percentile = |percent: f64| {
            let beyond = samples as f64 * (1.0 - percent / 100.0);
            // The slack forgives the rounding of 99.9 / 100.
            (beyond >= BEYOND - 1e-6)
                .then(|| self.delay.value_at_percentile(percent).min(self.most))
        };
        let percentiles = PERCENTILES
            .iter()
            .filter_map(|&percent| percentile(percent).map(|ns| Percentile { percent, ns }))
            .collect();
        let variation =
            (!self.longer.is_empty() || !self.shorter.is_empty()).then(|| self.variation());
        Some(Latency {
            samples,
            min_ns: self.least,
            mean_ns: self.sum as f64 / samples as f64,
            max_ns: self.most,
            deviation_ns: self.delay.stdev(),
            percentiles,
            pdv_ns: percentile(99.9).map(|high| high.saturating_sub(self.least)),
            ipdv: variation,
            mean_variation_ns: (self.variations > 0)
                .then(|| self.absolute as f64 / self.variations as f64),
            rfc3550_jitter_ns: (self.variations > 0 && variation.is_some()).then_some(self.jitter),
            distribution: self.distribution(),
        })
    }

    /// RFC 8219 §7.3.2: the difference to the frame sent before, with its sign.
    fn variation(&self) -> Ipdv {
        let (down, up) = (self.shorter.len(), self.longer.len());
        let middle = (down + up).div_ceil(2);
        let median = if middle <= down {
            // Counted from the most negative: the (middle)th is the (down - middle + 1)th smallest
            // in size.
            -(value_at_rank(&self.shorter, down - middle + 1).cast_signed())
        } else {
            value_at_rank(&self.longer, middle - down).cast_signed()
        };
        let min = if down > 0 {
            -(self.shorter.max().cast_signed())
        } else {
            self.longer.min().cast_signed()
        };
        let max = if up > 0 {
            self.longer.max().cast_signed()
        } else {
            -(self.shorter.min().cast_signed())
        };
        Ipdv {
            min_ns: min,
            median_ns: median,
            max_ns: max,
        }
    }

    /// Points of the percentile plot: share of frames not slower than a delay, ever closer to one.
    /// Of points with the same delay the first and the last are kept.
    fn distribution(&self) -> Vec<(f64, u64)> {
        let samples = self.delay.len() as f64;
        let mut points: Vec<(f64, u64)> = Vec::new();
        let mut beyond = 1.0_f64;
        while beyond * samples >= 1.0 {
            let share = 1.0 - beyond;
            let delay = self
                .delay
                .value_at_quantile(share)
                .clamp(self.least, self.most);
            if let [.., (_, before), (last, same)] = &mut points[..]
                && *before == delay
                && *same == delay
            {
                *last = share;
            } else {
                points.push((share, delay));
            }
            beyond /= 10_f64.powf(0.125);
        }
        points
    }
}

fn value_at_rank(histogram: &Histogram<u64>, rank: u64) -> u64 {
    histogram.value_at_quantile(rank as f64 / histogram.len().max(1) as f64)
}

/// A delay that this share of the frames did not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentile {
    /// Per cent of the frames received.
    pub percent: f64,
    /// Delay, ns.
    pub ns: u64,
}

/// Inter-packet delay variation with its sign (RFC 5481, RFC 8219 §7.3.2), ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ipdv {
    /// Most that a frame was faster than the one before (negative).
    pub min_ns: i64,
    /// Median.
    pub median_ns: i64,
    /// Most that a frame was slower than the one before.
    pub max_ns: i64,
}

/// One-way delay of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// Frames with a time.
    pub samples: u64,
    /// Least, ns.
    pub min_ns: u64,
    /// Mean, ns (RFC 2544 §26.2 reports this).
    pub mean_ns: f64,
    /// Most, ns.
    pub max_ns: u64,
    /// Standard deviation, ns.
    pub deviation_ns: f64,
    /// Percentiles with at least ten samples beyond them.
    pub percentiles: Vec<Percentile>,
    /// Packet delay variation: 99.9th percentile less minimum (RFC 8219 §7.3.1), ns.
    pub pdv_ns: Option<u64>,
    /// Variation from frame to frame; absent when the kernel's receiver counted it, which keeps no
    /// sign.
    pub ipdv: Option<Ipdv>,
    /// Mean size of the variation from frame to frame, ns.
    pub mean_variation_ns: Option<f64>,
    /// Interarrival jitter of RFC 3550 at the end of the trial, as iperf prints it, ns.
    pub rfc3550_jitter_ns: Option<f64>,
    /// Share of frames not slower than a delay in ns, for plots.
    pub distribution: Vec<(f64, u64)>,
}

impl Latency {
    /// The same without the points for a plot.
    #[must_use]
    pub fn without_distribution(self) -> Self {
        Self {
            distribution: Vec::new(),
            ..self
        }
    }

    /// A percentile, if it had enough samples beyond it.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.percentiles
            .iter()
            .find(|entry| (entry.percent - percent).abs() < 1e-9)
            .map(|entry| entry.ns)
    }
}

#[cfg(test)]
#[path = "../tests/unit/latency.rs"]
mod tests;
