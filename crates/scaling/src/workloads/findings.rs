//! What an experiment gives: lines of figures, a sentence, what explains them.

use report::{Block, Table};
use serde::{Deserialize, Serialize};

/// One line of an experiment's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// What was measured.
    pub what: String,
    /// What the author saw then; empty where nothing was said.
    pub then: String,
    /// What this machine does, one figure for each of [`Findings::columns`].
    pub now: Vec<String>,
    /// What explains it; empty where there is nothing to explain.
    pub why: String,
}

/// The result of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Findings {
    /// What the figures of each line are.
    pub columns: Vec<String>,
    /// Line by line.
    pub lines: Vec<Finding>,
    /// In a sentence.
    pub sentence: String,
    /// What was odd: a right that was missing, a figure not to be trusted.
    pub notes: Vec<String>,
}

impl Findings {
    /// No lines yet, each of which will have figures under these headings.
    pub fn of(columns: &[&str]) -> Self {
        Self {
            columns: columns.iter().map(|&c| c.to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Adds a line.
    pub fn line<const N: usize>(
        &mut self,
        what: impl Into<String>,
        then: impl Into<String>,
        now: [String; N],
    ) {
        self.lines.push(Finding {
            what: what.into(),
            then: then.into(),
            now: now.into(),
            why: String::new(),
        });
    }

    /// Adds what explains the last line.
    pub fn because(&mut self, why: impl Into<String>) {
        if let Some(last) = self.lines.last_mut() {
            last.why = why.into();
        }
    }

    /// Adds a note that is not there yet.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The lines as a table, what the author saw beside them where he said something, and the
    /// explanations under it.
    pub fn blocks(&self) -> Vec<Block> {
        let said = self.lines.iter().any(|line| !line.then.is_empty());
        let mut table = Table::default().text("what");
        if said {
            table = table.text("then");
        }
        for heading in &self.columns {
            table = if self.columns.len() > 1 {
                table.number(heading)
            } else {
                table.text(heading)
            };
        }
        for line in &self.lines {
            let then = said.then(|| line.then.clone());
            let first = std::iter::once(line.what.clone()).chain(then);
            table.push(first.chain(line.now.iter().cloned()));
        }
        let items: Vec<String> = self
            .lines
            .iter()
            .filter(|line| !line.why.is_empty())
            .map(|line| format!("{}: {}.", line.what, line.why))
            .collect();
        let mut blocks = vec![Block::Table(table)];
        if !items.is_empty() {
            let title = "What made the worst of them".to_owned();
            blocks.push(Block::List { title, items });
        }
        blocks
    }
}

#[cfg(test)]
#[path = "../../tests/unit/findings.rs"]
mod tests;
