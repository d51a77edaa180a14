//! Tables by their columns, and figures as their cells write them.

use report::units::{FramesPerSecond, Nanoseconds};
use report::{Block, Plot, Table};

use crate::result::{Entry, Report, Test};

/// A table by its columns: each has a heading, and says what its cell holds in a row `R`.
pub(super) struct Columns<'a, R> {
    table: Table,
    rows: &'a [R],
    cells: Vec<fn(&R) -> String>,
}

impl<'a, R> Columns<'a, R> {
    pub(super) fn new(title: &str, rows: &'a [R]) -> Self {
        Self {
            table: Table::new(title),
            rows,
            cells: Vec::new(),
        }
    }

    /// A column of words.
    pub(super) fn text(mut self, heading: &str, cell: fn(&R) -> String) -> Self {
        self.table = self.table.text(heading);
        self.cells.push(cell);
        self
    }

    /// A column of numbers.
    pub(super) fn number(mut self, heading: &str, cell: fn(&R) -> String) -> Self {
        self.table = self.table.number(heading);
        self.cells.push(cell);
        self
    }

    pub(super) fn caption(mut self, sentence: &str) -> Self {
        self.table = self.table.caption(sentence);
        self
    }

    pub(super) fn table(mut self) -> Table {
        for row in self.rows {
            self.table.push(self.cells.iter().map(|cell| cell(row)));
        }
        self.table
    }

    /// The table and, behind it, plots; nothing at all without rows.
    pub(super) fn blocks(self, plots: impl IntoIterator<Item = Plot>) -> Vec<Block> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![Block::Table(self.table())];
        blocks.extend(plots.into_iter().map(Block::Plot));
        blocks
    }
}

/// The rows of a test.
pub(super) fn of(report: &Report, test: Test) -> impl Iterator<Item = &Entry> {
    report
        .results
        .iter()
        .filter(move |entry| entry.test == test)
}

/// A figure in words; a dash for none.
pub(super) fn or_dash<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), words)
}

pub(super) fn rate(value: Option<f64>) -> String {
    or_dash(value, |value| FramesPerSecond(value).to_string())
}

pub(super) fn nanoseconds(value: f64) -> String {
    Nanoseconds(value.max(0.0).round() as u64).to_string()
}

pub(super) fn time(value: Option<u64>) -> String {
    or_dash(value, |value| Nanoseconds(value).to_string())
}

/// A share in per cent, with so many decimals.
pub(super) fn per_cent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", share * 100.0)
}

pub(super) fn verdict(entry: &Entry) -> String {
    entry.verdict.word()
}

pub(super) fn label(entry: &Entry) -> String {
    entry.label.clone()
}
