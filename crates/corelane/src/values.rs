//! How the values of options are read: times, rates and sizes with their units, lists of ports.

use std::ffi::OsString;
use std::time::Duration;

use report::quantity;

/// A time from `least` to `most` seconds.
pub(crate) fn time(
    least: f64,
    most: f64,
) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync {
    move |text| {
        quantity::seconds(text)
            .filter(|seconds| (least..=most).contains(seconds))
            .map(Duration::from_secs_f64)
            .ok_or_else(|| {
                format!(
                    "allowed are {least} to {most} seconds, also with a unit, as in 90, 1.5min or \
                     200ms"
                )
            })
    }
}

/// A time in seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    quantity::seconds(text)
        .ok_or_else(|| "write seconds, or a time with its unit, as in 90, 1.5min or 200ms".into())
}

/// A time above 0, in nanoseconds.
pub(crate) fn nanoseconds(text: &str) -> Result<f64, String> {
    quantity::nanoseconds(text)
        .filter(|&time| time > 0.0)
        .ok_or_else(|| "write a time with its unit, as in 50us or 30ms".into())
}

/// A rate above 0, in frames/s.
pub(crate) fn frames_per_second(text: &str) -> Result<f64, String> {
    quantity::frames_per_second(text)
        .filter(|&rate| rate > 0.0)
        .ok_or_else(|| "write frames a second above 0, as in 64000, 500k or 1.5Mpps".into())
}

/// A rate above 0, in bits/s.
pub(crate) fn bits_per_second(text: &str) -> Result<f64, String> {
    quantity::bits_per_second(text)
        .filter(|&rate| rate > 0.0)
        .ok_or_else(|| "write bits a second above 0, as in 200M or 1.5Gbit/s".into())
}

/// A size from `least` to `most` bytes; without a unit it is in units of `bare` bytes.
pub(crate) fn size(
    least: u64,
    most: u64,
    bare: u64,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync {
    move |text| {
        let number = text.parse().ok().and_then(|n: u64| n.checked_mul(bare));
        number
            .or_else(|| quantity::bytes(text).map(|bytes| bytes as u64))
            .filter(|bytes| (least..=most).contains(bytes))
            .ok_or_else(|| format!("allowed are {least} to {most} bytes, as in 256, 64KiB or 4MiB"))
    }
}

/// Says what an option is called now, where the older name was used: for one version.
pub(crate) fn renamed(before: &str, now: &str) {
    let used = |word: &OsString| {
        let rest = word.to_str().and_then(|word| word.strip_prefix(before));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    // Behind `--` is a command with options of its own.
    let mut words = std::env::args_os().take_while(|word| word != "--");
    if words.any(|word| used(&word)) {
        report::hint(&format!("`{before}` is now `{now}`"));
    }
}
