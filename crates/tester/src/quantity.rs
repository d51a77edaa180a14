//! Numbers with units, as people write them.

/// Factors to frames/s, to nanoseconds, and to shares of one.
const UNITS: [(&str, f64); 11] = [
    ("Gpps", 1e9),
    ("Mpps", 1e6),
    ("kpps", 1e3),
    ("pps", 1.0),
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("%", 0.01),
    ("s", 1e9),
    ("", 1.0),
];

/// A number not below 0 with its unit: frames/s, frames, a share, or a time in ns. `None` for
/// anything else.
pub fn quantity(text: &str) -> Option<f64> {
    UNITS.iter().find_map(|(unit, factor)| {
        let number: f64 = text.trim().strip_suffix(unit)?.trim().parse().ok()?;
        (number >= 0.0 && number.is_finite()).then_some(number * factor)
    })
}

#[cfg(test)]
#[path = "../tests/unit/quantity.rs"]
mod tests;
