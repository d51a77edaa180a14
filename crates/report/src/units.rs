//! Quantities as types, written the way engineers write them: three digits and a prefix.
//!
//! Inside a type the value is always in the base unit (frames per second, bits per second,
//! nanoseconds, bytes), and so it is in JSON. Only [`Display`](std::fmt::Display) scales.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Bits in a byte.
const BITS_PER_BYTE: f64 = 8.0;

/// Frames per second. As in RFC 2544, a frame is counted once, whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FramesPerSecond(pub f64);

impl FramesPerSecond {
    /// The layer-2 bit rate of this many frames of `frame_bytes` each, FCS included; preamble and
    /// gap are not counted.
    pub fn at(self, frame_bytes: u32) -> BitsPerSecond {
        BitsPerSecond(self.0 * f64::from(frame_bytes) * BITS_PER_BYTE)
    }
}

/// Bits per second at layer 2, FCS included.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct BitsPerSecond(pub f64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Nanoseconds(pub u64);

impl From<std::time::Duration> for Nanoseconds {
    /// Saturates at 584 years.
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// An amount of memory or data in bytes, shown in binary prefixes (KiB, MiB).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A number of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Frames(pub u64);

/// A fraction of one, shown in percent: `Share(0.125)` is `12.5 %`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Share(pub f64);

/// How many times as much: `Times(1.97)` is `1.97×`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Times(pub f64);

impl fmt::Display for FramesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&engineering(self.0, "frames/s"))
    }
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&prefixed(self.0, "bit/s"))
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&stepped(self.0, 1e3, &["ns", "µs", "ms", "s"]))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        f.pad(&stepped(self.0, 1024.0, &units))
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&grouped(self.0))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} %", three_digits(self.0 * 100.0)))
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.2}×", self.0))
    }
}

/// `value` with three significant digits, a decimal prefix, a space and the unit: `31.4 M
/// frames/s`.
pub fn engineering(value: f64, unit: &str) -> String {
    let (scaled, prefix) = scale(value);
    let gap = if prefix.is_empty() { "" } else { " " };
    format!("{} {prefix}{gap}{unit}", three_digits(scaled))
}

/// Like [`engineering`] with the prefix set against the unit: `16.1 Gbit/s`.
pub fn prefixed(value: f64, unit: &str) -> String {
    let (scaled, prefix) = scale(value);
    format!("{} {prefix}{unit}", three_digits(scaled))
}

/// A bare number with a decimal prefix, for axis ticks: `250 k`, `1.5 M`, `64`.
pub fn compact(value: f64) -> String {
    let (scaled, prefix) = scale(value);
    let mut digits = three_digits(scaled);
    if digits.contains('.') {
        digits.truncate(digits.trim_end_matches('0').trim_end_matches('.').len());
    }
    format!("{digits} {prefix}").trim_end().to_owned()
}

/// An integer with its thousands set apart by commas: `901,899`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Three significant digits, never in exponent form; numbers of 1000 and more keep all their
/// integer digits.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 | 99.95..f64::INFINITY => 0,
        9.995..99.95 => 1,
        0.9995..9.995 => 2,
        // Below one: digits after the leading zeros, at most six places.
        small @ 0.0..0.9995 => ((-small.log10()).ceil() as usize + 2).min(6),
        f64::INFINITY => return "∞".to_owned(),
        _ => return "-".to_owned(),
    };
    format!("{value:.decimals$}")
}

/// `value` brought below 1000 and its decimal prefix; a value that would round up to 1000 takes the
/// next prefix.
fn scale(mut value: f64) -> (f64, &'static str) {
    for prefix in ["", "k", "M", "G"] {
        if value.abs() < 999.5 || !value.is_finite() {
            return (value, prefix);
        }
        value /= 1e3;
    }
    (value, "T")
}

/// `value` in the first of the `units` in which it is below `step`; whole in the first one, in
/// three digits in the others.
fn stepped(value: u64, step: f64, units: &[&str]) -> String {
    let mut scaled = value as f64;
    let mut place = 0;
    while scaled >= step && place + 1 < units.len() {
        scaled /= step;
        place += 1;
    }
    let digits = match place {
        0 => value.to_string(),
        _ => three_digits(scaled),
    };
    format!("{digits} {}", units[place])
}
