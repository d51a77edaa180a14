//! The two forms of the page, which differ in what they say of a family.

use super::Family;

/// A form of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Prometheus text 0.0.4, which every client reads.
    #[default]
    Text,
    /// `OpenMetrics` 1.0.0.
    OpenMetrics,
}

impl Format {
    /// What a client gets who accepts this (RFC 9110, 12.5.1): `OpenMetrics` if it is named, and
    /// Prometheus text is not preferred.
    pub fn accepted(header: &str) -> Self {
        let weight = |wanted: &str| {
            let ranges = header.split(',').map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                let weight = parts.find_map(|part| part.strip_prefix("q="));
                (name, weight.map_or(1.0, |q| q.parse().unwrap_or(0.0)))
            });
            let named = ranges.filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            named.map(|(_, weight)| weight).fold(0.0, f64::max)
        };
        let open = weight("application/openmetrics-text");
        if open > 0.0 && open >= weight("text/plain") {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    /// As HTTP names it.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The name and the type by which the lines before the samples call a family. Prometheus text
    /// has the samples' name, and no type for what only informs.
    pub(super) fn metadata(self, family: Family) -> (String, &'static str) {
        let Family { name, kind, .. } = family;
        match (self, kind) {
            (Self::OpenMetrics, _) => (name.to_owned(), kind),
            (Self::Text, "info") => (format!("{name}{}", family.suffix()), "gauge"),
            (Self::Text, _) => (format!("{name}{}", family.suffix()), kind),
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/format.rs"]
mod tests;
