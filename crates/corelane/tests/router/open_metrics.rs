//! A strict reader of `OpenMetrics` text (the specification's version 1.0.0, of which the sections
//! are named), as far as counters, gauges and infos go.

use std::collections::HashSet;

/// One sample.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    /// As written, without the braces.
    pub(crate) labels: String,
    pub(crate) value: f64,
}

#[derive(Default)]
struct Family {
    name: String,
    kind: Option<String>,
    helped: bool,
    samples: usize,
}

/// Reads a page; the error names the line and what is wrong with it.
pub(crate) fn parse(page: &str) -> Result<Vec<Sample>, String> {
    // 5.1: lines end with a line feed, the last is `# EOF`, and nothing follows it.
    let body = page
        .strip_suffix("# EOF\n")
        .ok_or("the page does not end with # EOF and a line feed")?;
    if body.contains("# EOF") || page.contains('\r') {
        return Err("an early # EOF, or a carriage return".into());
    }
    let mut families = HashSet::new();
    let mut seen = HashSet::new();
    let mut samples = Vec::new();
    let mut family = Family::default();
    for (number, line) in body.lines().enumerate() {
        let wrong = |what: &str| Err(format!("line {}: {what}: {line:?}", number + 1));
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (Some(word), Some(name), Some(rest)) = (words.next(), words.next(), words.next())
            else {
                return wrong("neither TYPE nor HELP nor UNIT");
            };
            if !is_name(name) {
                return wrong("no metric name");
            }
            if name != family.name {
                // 4.5: the lines of a family are together.
                if !families.insert(name.to_owned()) {
                    return wrong("a family in two places");
                }
                family = Family {
                    name: name.to_owned(),
                    ..Family::default()
                };
            }
            if family.samples > 0 {
                return wrong("metadata after a sample of its family");
            }
            match word {
                "TYPE" if family.kind.is_none() && ["counter", "gauge", "info"].contains(&rest) => {
                    family.kind = Some(rest.to_owned());
                }
                "HELP" if !family.helped && is_escaped(rest) => family.helped = true,
                _ => return wrong("a repeated or unknown comment"),
            }
            continue;
        }
        let sample = match read(line) {
            Ok(sample) => sample,
            Err(what) => return wrong(what),
        };
        let Some(kind) = &family.kind else {
            return wrong("a sample without a type");
        };
        // 5.2.1: a counter's samples end with _total and never fall below zero.
        let suffix = match kind.as_str() {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        let name = format!("{}{suffix}", family.name);
        if sample.name != name {
            return wrong("a sample of another family");
        }
        if kind == "counter" && (sample.value < 0.0 || !sample.value.is_finite()) {
            return wrong("no value for a counter");
        }
        if !seen.insert((sample.name.clone(), sample.labels.clone())) {
            return wrong("the same sample twice");
        }
        family.samples += 1;
        samples.push(sample);
    }
    Ok(samples)
}

fn is_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    let other = |c: char| first(c) || c.is_ascii_digit();
    name.chars().next().is_some_and(first) && name.chars().all(other)
}

/// Is every backslash part of \\\\, \\n or \\"?
fn is_escaped(text: &str) -> bool {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && !matches!(chars.next(), Some('\\' | 'n' | '"')) {
            return false;
        }
    }
    true
}

fn read(line: &str) -> Result<Sample, &'static str> {
    let name_end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, rest) = line.split_at(name_end);
    if !is_name(name) {
        return Err("no metric name");
    }
    let (labels, value) = match rest.strip_prefix('{') {
        None => ("", rest),
        Some(rest) => {
            let end = closing_brace(rest).ok_or("labels without an end")?;
            (&rest[..end], &rest[end + 1..])
        }
    };
    labels_are_right(labels)?;
    // Exactly one blank, then a number; no timestamps here.
    let value = value.strip_prefix(' ').ok_or("no blank before the value")?;
    if value.is_empty() || value.contains(|c: char| !"0123456789+-.eE".contains(c)) {
        return Err("no number");
    }
    Ok(Sample {
        name: name.to_owned(),
        labels: labels.to_owned(),
        value: value.parse().map_err(|_| "no number")?,
    })
}

/// Where the labels end, outside of quotes.
fn closing_brace(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn labels_are_right(mut labels: &str) -> Result<(), &'static str> {
    let mut names = HashSet::new();
    while !labels.is_empty() {
        let (name, rest) = labels.split_once("=\"").ok_or("a label without a value")?;
        if !is_name(name) || name.contains(':') || !names.insert(name) {
            return Err("no label name, or one twice");
        }
        let mut end = None;
        let mut escaped = false;
        for (at, c) in rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
        }
        let end = end.ok_or("a label without an end")?;
        if !is_escaped(&rest[..end]) {
            return Err("a backslash that escapes nothing");
        }
        labels = &rest[end + 1..];
        if !labels.is_empty() {
            labels = labels.strip_prefix(',').ok_or("labels without a comma")?;
        }
    }
    Ok(())
}

#[test]
fn the_reader_takes_what_is_right_and_nothing_else() {
    let right = "# TYPE a counter\n# HELP a Some.\na_total{x=\"1\",y=\"q\\\"}\"} 3\na_total \
                 4.5\n# TYPE b gauge\nb -1e3\n# EOF\n";
    assert_eq!(parse(right).unwrap().len(), 3);
    for wrong in [
        "",
        "# TYPE a gauge\na 1\n",
        "# TYPE a gauge\na 1\n# EOF\n\n",
        "a 1\n# EOF\n",
        "# TYPE a counter\na 1\n# EOF\n",
        "# TYPE a counter\na_total -1\n# EOF\n",
        "# TYPE a gauge\na 1\na 1\n# EOF\n",
        "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\n# EOF\n",
        "# TYPE a gauge\na{x=\"1\"}1\n# EOF\n",
        "# TYPE a gauge\na{x=1} 1\n# EOF\n",
        "# TYPE a gauge\na{x=\"\\q\"} 1\n# EOF\n",
        "# TYPE a gauge\na{x=\"1\",x=\"2\"} 1\n# EOF\n",
        "# TYPE a gauge\na  1\n# EOF\n",
        "# TYPE a gauge\na one\n# EOF\n",
        "# TYPE a gauge\r\na 1\n# EOF\n",
    ] {
        assert!(parse(wrong).is_err(), "{wrong:?}");
    }
}
