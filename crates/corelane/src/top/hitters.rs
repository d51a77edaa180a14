//! Who most of the traffic is, as tables.

use std::fmt::Write as _;

use report::Table;
use report::units::{compact, prefixed};
use serde_json::Value;

use super::rates::rows;

/// Rows of each kind on the screen.
const MOST: usize = 5;

/// The tables; a line when there are no samples.
pub(super) fn shown(hitters: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    if let Some(why) = hitters["failed"].as_str() {
        return format!("\nno samples: {why}\n");
    }
    let samples = hitters["samples"].as_u64().unwrap_or(0);
    if samples == 0 {
        return String::new();
    }
    let mut text = format!(
        "\nby {samples} samples of {:.0} s, one frame in {}\n",
        number(&hitters["seconds"]),
        hitters["every"]
    );
    for (key, heading) in [
        ("prefixes", "most frames to"),
        ("sources", "from"),
        ("flows", "of the flow"),
    ] {
        let mut table = Table::new("")
            .text(heading)
            .numbers(["about", "between", "and", ""]);
        for row in rows(&hitters[key]).take(MOST) {
            let frames = |key: &str| format!("{}/s", compact(number(&row[key])));
            table.push([
                row["what"].as_str().unwrap_or("").to_owned(),
                frames("frames_per_second"),
                frames("low"),
                frames("high"),
                prefixed(number(&row["bits_per_second"]), "bit/s"),
            ]);
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{}", table.to_text());
    }
    text
}
