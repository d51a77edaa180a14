//! Numbers with units, as people write them: the one reading of rates, times, sizes and shares.
//!
//! What is negative or endless is no quantity. A space may stand before the unit.

/// What may follow a number, with the factor to the base unit.
type Unit = (&'static str, f64);

/// To frames/s.
const RATES: [Unit; 7] = [
    ("Gpps", 1e9),
    ("Mpps", 1e6),
    ("kpps", 1e3),
    ("pps", 1.0),
    ("G", 1e9),
    ("M", 1e6),
    ("k", 1e3),
];
/// To bits/s.
const BIT_RATES: [Unit; 7] = [
    ("Gbit/s", 1e9),
    ("Mbit/s", 1e6),
    ("kbit/s", 1e3),
    ("bit/s", 1.0),
    ("G", 1e9),
    ("M", 1e6),
    ("k", 1e3),
];
/// To nanoseconds.
const TIMES: [Unit; 7] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
];
/// To bytes.
const SIZES: [Unit; 7] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("B", 1.0),
];
/// To shares of one.
const SHARES: [Unit; 1] = [("%", 0.01)];
/// A number alone.
const BARE: [Unit; 1] = [("", 1.0)];

fn read(text: &str, units: &[&[Unit]]) -> Option<f64> {
    units.iter().copied().flatten().find_map(|(unit, factor)| {
        let number: f64 = text.trim().strip_suffix(unit)?.trim().parse().ok()?;
        (number >= 0.0 && number.is_finite()).then_some(number * factor)
    })
}

/// Frames/s: `1.5Mpps`, `500k`, `64000`.
pub fn frames_per_second(text: &str) -> Option<f64> {
    read(text, &[&RATES, &BARE])
}

/// Bits/s: `1.5G`, `200Mbit/s`, `64000`.
pub fn bits_per_second(text: &str) -> Option<f64> {
    read(text, &[&BIT_RATES, &BARE])
}

/// A time with its unit, in nanoseconds: `50us`, `30ms`. Without a unit it would be a guess.
pub fn nanoseconds(text: &str) -> Option<f64> {
    read(text, &[&TIMES])
}

/// A time in seconds, which need no unit: `90`, `1.5min`, `200ms`.
pub fn seconds(text: &str) -> Option<f64> {
    read(text, &[&BARE]).or_else(|| Some(nanoseconds(text)? / 1e9))
}

/// Bytes, which need no unit: `256`, `4MiB`, `1.5kB`.
pub fn bytes(text: &str) -> Option<f64> {
    read(text, &[&SIZES, &BARE])
}

/// A quantity of whatever kind: frames/s, a time in ns, a share of one, or a number alone.
pub fn any(text: &str) -> Option<f64> {
    read(text, &[&RATES, &TIMES, &SHARES, &BARE])
}
