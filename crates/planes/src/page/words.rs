//! Figures in words, as tables and sentences have them.

use report::units::{Nanoseconds, prefixed};

/// A figure in `words`, or a dash where there is none.
pub(super) fn or_dash<T>(figure: Option<T>, words: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| "–".to_owned(), words)
}

/// Bits a second; the unit is in the heading.
pub(super) fn bits(rate: f64) -> String {
    prefixed(rate, "")
}

/// Nanoseconds; less than nothing is nothing.
pub(super) fn time(ns: f64) -> String {
    Nanoseconds(ns as u64).to_string()
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A share of frames lost, down to the hundredth of a per cent.
pub(super) fn loss(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
