//! Text into HTML and SVG: the five characters that markup would misread.

/// `text` with `& < > " '` replaced, safe as element content and inside quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Words of a page: escaped, and code where a terminal shows backticks.
pub(crate) fn words(text: &str) -> String {
    let escaped = escape(text);
    if escaped.split('`').count().is_multiple_of(2) {
        return escaped;
    }
    let part = |(place, part): (usize, &str)| match place % 2 {
        0 => part.to_owned(),
        _ => format!("<code>{part}</code>"),
    };
    escaped.split('`').enumerate().map(part).collect()
}

/// An element that holds `text`.
pub(crate) fn element(tag: &str, text: &str) -> String {
    format!("<{tag}>{}</{tag}>", escape(text))
}

/// An element that holds the words of `text`; nothing when there is none.
pub(crate) fn optional(tag: &str, text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("<{tag}>{}</{tag}>", words(text))
    }
}

#[cfg(test)]
#[path = "../tests/unit/escape.rs"]
mod tests;
