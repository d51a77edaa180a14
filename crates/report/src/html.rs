//! A document as a web page in one file: style inside, no script, nothing loaded.

use std::path::Path;

use crate::escape::{element, escape, optional, words};
use crate::json::{self, WriteError};
use crate::plot::{Size, svg};
use crate::{Block, Document, Plot};

const PAGE_STYLE: &str = include_str!("page.css");

/// The page.
pub fn render(document: &Document) -> String {
    let title = escape(&document.title);
    let mut out = format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{}{}{PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>{title}</h1>
"#,
        svg::COLOURS,
        svg::STYLE
    );
    if !document.verdict.is_empty() {
        out.push_str("<section class=\"verdict\">\n");
        for sentence in &document.verdict {
            out += &line("p", sentence);
        }
        out.push_str("</section>\n");
    }
    out += &body(&document.blocks);
    if !document.environment.is_empty() {
        let facts = document.environment.iter();
        let facts = facts.map(|(name, value)| element("dt", name) + &line("dd", value));
        let facts: String = facts.collect();
        out += &folded("Environment", &format!("<dl>\n{facts}</dl>\n"));
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn body(blocks: &[Block]) -> String {
    let markup = blocks.iter().map(|block| match block {
        Block::Heading(heading) => line("h2", heading),
        Block::Text(text) => line("p", text),
        Block::List { title, items } => list(title, items),
        Block::Table(table) => table.to_html(),
        Block::Plot(plot) => figure(plot),
        Block::Details { title, blocks } => folded(title, &body(blocks)),
        Block::Html(markup) => markup.clone(),
    });
    markup.collect()
}

/// Markup that the reader opens by its title.
fn folded(title: &str, markup: &str) -> String {
    let summary = line("summary", title);
    format!("<details>\n{summary}{markup}</details>\n")
}

/// Writes the page to `path`, whole or not at all; `-` is standard output.
///
/// # Errors
/// When the file cannot be created, written or renamed.
pub fn write(path: impl AsRef<Path>, document: &Document) -> Result<(), WriteError> {
    json::write_file(path.as_ref(), render(document).as_bytes())
}

/// An element on a line of its own.
fn line(tag: &str, text: &str) -> String {
    format!("<{tag}>{}</{tag}>\n", words(text))
}

fn list(title: &str, items: &[String]) -> String {
    let title = optional("h3", title);
    let end = if title.is_empty() { "" } else { "\n" };
    let items: String = items.iter().map(|item| line("li", item)).collect();
    format!("{title}{end}<ul>\n{items}</ul>\n")
}

/// A plot drawn for both widths; the style sheet shows one of them.
fn figure(plot: &Plot) -> String {
    format!(
        "<figure class=\"plot\">{}<div class=\"wide\">{}</div><div \
         class=\"narrow\">{}</div>{}</figure>\n",
        optional("h3", &plot.title),
        plot.to_svg(Size::Wide),
        plot.to_svg(Size::Narrow),
        optional("figcaption", &plot.caption)
    )
}
