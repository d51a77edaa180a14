//! Tables: text columns to the left, numbers to the right, one caption sentence below.
//!
//! A cell is a finished string: whoever fills the table chooses units and digits.

use std::fmt::Write as _;

use crate::escape::{escape, optional};

/// Which way a column's cells lean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
    /// Bars of [`bar`], for the eye alone: a number of the row says the same.
    Bar,
}

/// A table of more columns is printed in small letters, on sheets that lie on their side.
const MANY: usize = 14;

/// Characters of the longest bar.
const BAR: usize = 24;

/// `share` of the longest bar, as a cell of a column of bars.
pub fn bar(share: f64) -> String {
    let length = (share.clamp(0.0, 1.0) * BAR as f64).round();
    "█".repeat(length as usize)
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

    /// Adds a column of [`bar`]s, without a heading.
    #[must_use]
    pub fn bars(self) -> Self {
        self.column("", Align::Bar)
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
        let headings = self.headings();
        let lines = || std::iter::once(&headings).chain(&self.rows);
        let width = |at: usize| {
            let cells = lines().filter_map(|line| line.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        let mut out = String::new();
        if !self.title.is_empty() {
            out = format!("{}\n", self.title);
        }
        for line in [&headings, &rule].into_iter().chain(&self.rows) {
            self.text_line(&mut out, line, &widths);
        }
        if !self.caption.is_empty() {
            out = out + &self.caption + "\n";
        }
        out
    }

    fn headings(&self) -> Vec<String> {
        let headings = self.columns.iter().map(|column| &column.heading);
        headings.cloned().collect()
    }

    /// A row's cells with their columns, as many as there are columns.
    fn cells<'a>(&'a self, row: &'a [String]) -> impl Iterator<Item = (Align, &'a str)> {
        let cells = row.iter().map(String::as_str);
        let columns = self.columns.iter().map(|column| column.align);
        columns.zip(cells.chain(std::iter::repeat("")))
    }

    fn text_line(&self, out: &mut String, row: &[String], widths: &[usize]) {
        let mut line = String::new();
        for ((align, cell), &width) in self.cells(row).zip(widths) {
            // The width of a format string is counted in characters too.
            let _ = match align {
                Align::Left | Align::Bar => write!(line, "{cell:<width$}  "),
                Align::Right => write!(line, "{cell:>width$}  "),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }

    /// The table as Markdown, for documents.
    pub fn to_markdown(&self) -> String {
        let rule = |column: &Column| match column.align {
            Align::Left | Align::Bar => "---|",
            Align::Right => "---:|",
        };
        let rule: String = self.columns.iter().map(rule).collect();
        let line = |row: &[String]| -> String {
            let cells = self.cells(row).map(|(_, cell)| format!(" {cell} |"));
            format!("|{}\n", cells.collect::<String>())
        };
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}|{rule}\n{rows}", line(&self.headings()))
    }

    /// The table as HTML inside a box that scrolls by itself when the page is narrow.
    pub fn to_html(&self) -> String {
        let line = |out: &mut String, tag: &str, row: &[String]| {
            out.push_str("<tr>");
            for (align, cell) in self.cells(row) {
                let class = match align {
                    Align::Left => "",
                    Align::Right => " class=\"n\"",
                    Align::Bar => {
                        out.push_str(&drawn(cell));
                        continue;
                    }
                };
                let end = &tag[..2];
                let _ = write!(out, "<{tag}{class}>{}</{end}>", escape(cell));
            }
            out.push_str("</tr>");
        };
        let (mut head, mut body) = (String::new(), String::new());
        line(&mut head, "th scope=\"col\"", &self.headings());
        for row in &self.rows {
            line(&mut body, "td", row);
        }
        let many = if self.columns.len() > MANY {
            " many"
        } else {
            ""
        };
        format!(
            "<figure class=\"table\">{}<div class=\"scroll{many}\" \
             tabindex=\"0\"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>\
             {}</figure>\n",
            optional("h3", &self.title),
            optional("figcaption", &self.caption)
        )
    }
}

/// A bar as a cell of a page; screen readers pass over it.
fn drawn(bar: &str) -> String {
    let length = bar.chars().count() as f64 / BAR as f64 * 100.0;
    if length > 0.0 {
        format!("<td class=\"bar\" aria-hidden=\"true\"><i style=\"width:{length:.1}%\"></i></td>")
    } else {
        "<td class=\"bar\"></td>".to_owned()
    }
}
