//! A document as plain text for a terminal or a log.

use std::fmt::Write as _;

use crate::{Block, Document};

/// Columns that a paragraph fills before it wraps.
const WIDTH: usize = 100;

/// The document as text: title, verdict, blocks. Details and markup are left out; the environment
/// closes the text.
pub fn render(document: &Document) -> String {
    let mut out = String::new();
    if !document.title.is_empty() {
        underlined(&mut out, &document.title, "=");
    }
    for sentence in &document.verdict {
        wrap(&mut out, sentence);
    }
    if !document.verdict.is_empty() {
        out.push('\n');
    }
    for block in &document.blocks {
        match block {
            Block::Heading(heading) => underlined(&mut out, heading, "-"),
            Block::Text(text) => {
                wrap(&mut out, text);
                out.push('\n');
            }
            Block::List { title, items } => {
                if !title.is_empty() {
                    let _ = writeln!(out, "{title}");
                }
                for item in items {
                    wrap(&mut out, &format!("- {item}"));
                }
                out.push('\n');
            }
            Block::Table(table) => {
                let bare = crate::Table {
                    caption: String::new(),
                    ..table.clone()
                };
                out.push_str(&bare.to_text());
                if !table.caption.is_empty() {
                    wrap(&mut out, &table.caption);
                }
                out.push('\n');
            }
            Block::Plot(plot) => out = out + &plot.to_text() + "\n",
            Block::Details { .. } | Block::Html(_) => {}
        }
    }
    for (name, value) in &document.environment {
        let _ = writeln!(out, "{name}: {value}");
    }
    out
}

fn underlined(out: &mut String, text: &str, rule: &str) {
    let _ = writeln!(out, "{text}\n{}\n", rule.repeat(text.chars().count()));
}

/// Appends `text` wrapped at word boundaries, ended by a newline.
fn wrap(out: &mut String, text: &str) {
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

#[cfg(test)]
#[path = "../tests/unit/terminal.rs"]
mod tests;
