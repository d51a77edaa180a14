//! Tables: text columns to the left, numbers to the right, one caption sentence below.
//!
//! A cell is a finished string: whoever fills the table chooses units and digits.

use std::fmt::Write as _;

use crate::escape::escape;

/// Which way a column's cells lean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column's heading and alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Shown above the cells.
    pub heading: String,
    /// Which way the cells lean.
    pub align: Align,
}

/// A table of finished strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Shown above; empty for none.
    pub title: String,
    /// The columns from left to right.
    pub columns: Vec<Column>,
    /// The rows from top to bottom. A row shorter than the columns ends in empty cells.
    pub rows: Vec<Vec<String>>,
    /// A sentence shown below; empty for none.
    pub caption: String,
}

impl Table {
    /// A table without columns.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Adds a column of words.
    #[must_use]
    pub fn text(self, heading: impl Into<String>) -> Self {
        self.column(heading, Align::Left)
    }

    /// Adds a column of numbers.
    #[must_use]
    pub fn number(self, heading: impl Into<String>) -> Self {
        self.column(heading, Align::Right)
    }

    /// Adds a column of words for each heading.
    #[must_use]
    pub fn texts<const N: usize>(self, headings: [&str; N]) -> Self {
        headings.into_iter().fold(self, Self::text)
    }

    /// Adds a column of numbers for each heading.
    #[must_use]
    pub fn numbers<const N: usize>(self, headings: [&str; N]) -> Self {
        headings.into_iter().fold(self, Self::number)
    }

    fn column(mut self, heading: impl Into<String>, align: Align) -> Self {
        self.columns.push(Column {
            heading: heading.into(),
            align,
        });
        self
    }

    /// Adds a row.
    #[must_use]
    pub fn row<C: Into<String>>(mut self, cells: impl IntoIterator<Item = C>) -> Self {
        self.push(cells);
        self
    }

    /// Adds a row to a table held by reference.
    pub fn push<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Sets the sentence below.
    #[must_use]
    pub fn caption(mut self, sentence: impl Into<String>) -> Self {
        self.caption = sentence.into();
        self
    }

    /// The table as plain text, columns aligned by character count, each line ended by a newline.
    pub fn to_text(&self) -> String {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .map(|column| column.heading.chars().count())
            .collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut out = String::new();
        if !self.title.is_empty() {
            out.push_str(&self.title);
            out.push('\n');
        }
        let headings: Vec<String> = self
            .columns
            .iter()
            .map(|column| column.heading.clone())
            .collect();
        self.text_line(&mut out, &headings, &widths);
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        self.text_line(&mut out, &rule, &widths);
        for row in &self.rows {
            self.text_line(&mut out, row, &widths);
        }
        if !self.caption.is_empty() {
            out.push_str(&self.caption);
            out.push('\n');
        }
        out
    }

    fn text_line(&self, out: &mut String, cells: &[String], widths: &[usize]) {
        let mut line = String::new();
        for (index, (column, &width)) in self.columns.iter().zip(widths).enumerate() {
            let cell = cells.get(index).map_or("", String::as_str);
            if index > 0 {
                line.push_str("  ");
            }
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            match column.align {
                Align::Left => line.extend([cell, &padding]),
                Align::Right => line.extend([padding.as_str(), cell]),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }

    /// The table as Markdown, for documents.
    pub fn to_markdown(&self) -> String {
        let mut out = String::from("|");
        for column in &self.columns {
            let _ = write!(out, " {} |", column.heading);
        }
        out.push_str("\n|");
        for column in &self.columns {
            out.push_str(if column.align == Align::Right {
                "---:|"
            } else {
                "---|"
            });
        }
        out.push('\n');
        for row in &self.rows {
            out.push('|');
            for index in 0..self.columns.len() {
                let _ = write!(out, " {} |", row.get(index).map_or("", String::as_str));
            }
            out.push('\n');
        }
        out
    }

    /// The table as HTML inside a box that scrolls by itself when the page is narrow.
    pub fn to_html(&self) -> String {
        let mut out = String::from("<figure class=\"table\">");
        if !self.title.is_empty() {
            let _ = write!(out, "<h3>{}</h3>", escape(&self.title));
        }
        out.push_str("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
        for column in &self.columns {
            let _ = write!(
                out,
                "<th scope=\"col\"{}>{}</th>",
                class(column.align),
                escape(&column.heading)
            );
        }
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for (index, column) in self.columns.iter().enumerate() {
                let cell = row.get(index).map_or("", String::as_str);
                let _ = write!(out, "<td{}>{}</td>", class(column.align), escape(cell));
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
        if !self.caption.is_empty() {
            let _ = write!(out, "<figcaption>{}</figcaption>", escape(&self.caption));
        }
        out.push_str("</figure>\n");
        out
    }
}

fn class(align: Align) -> &'static str {
    match align {
        Align::Left => "",
        Align::Right => " class=\"n\"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        Table::new("Rates")
            .text("engine")
            .number("frames/s")
            .row(["memory", "31.4 M"])
            .row(["kernel"])
            .caption("Why <so>.")
    }

    #[test]
    fn text_is_aligned() {
        let expected =
            "Rates\nengine  frames/s\n------  --------\nmemory    31.4 M\nkernel\nWhy <so>.\n";
        assert_eq!(sample().to_text(), expected);
    }

    #[test]
    fn html_escapes_and_aligns() {
        let html = sample().to_html();
        assert!(html.contains("<td class=\"n\">31.4 M</td>"));
        assert!(html.contains("Why &lt;so&gt;."));
        assert_eq!(html.matches("<tr>").count(), 3);
        assert_eq!(
            html.matches("<td").count(),
            4,
            "a short row is filled with empty cells"
        );
    }

    #[test]
    fn markdown_has_every_row() {
        let markdown = sample().to_markdown();
        assert_eq!(markdown.lines().count(), 4);
        assert!(markdown.starts_with("| engine | frames/s |\n|---|---:|\n"));
    }
}
