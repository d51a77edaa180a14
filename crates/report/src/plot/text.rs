//! A plot in characters, for a terminal: rough shape, exact words.

use std::fmt::Write as _;

use super::{Plot, Style};

const COLUMNS: usize = 64;
const ROWS: usize = 14;
/// One letter for each series, in order.
const MARKS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

impl Plot {
    /// The plot as lines of text. Each series is a letter; lines are not drawn, a later series
    /// covers an earlier one.
    pub fn to_text(&self) -> String {
        let (xs, ys) = self.values();
        let x = self.x.fit(&xs, 6);
        let y = self.y.fit(&ys, 4);
        let mut grid = vec![vec![b' '; COLUMNS + 1]; ROWS + 1];
        for (series, mark) in self.series.iter().zip(MARKS.iter().cycle()) {
            for point in series.drawn() {
                let (Some(across), Some(up)) = (x.place(point.x), y.place(point.y)) else {
                    continue;
                };
                let column = (across * COLUMNS as f64).round() as usize;
                let row = ROWS - (up * ROWS as f64).round() as usize;
                let covered = series.style == Style::Reference && grid[row][column] != b' ';
                if !covered {
                    grid[row][column] = *mark;
                }
            }
        }
        let mut labels = vec![String::new(); ROWS + 1];
        for (place, word) in y.marks() {
            word.clone_into(&mut labels[ROWS - (place * ROWS as f64).round() as usize]);
        }
        let margin = labels.iter().map(|label| label.chars().count()).max();
        let margin = margin.unwrap_or(0);
        let mut out = format!("{}\n{}\n", self.title, self.y.label);
        for (label, line) in labels.iter().zip(&grid) {
            let _ = writeln!(
                out,
                "{label:>margin$} |{}",
                String::from_utf8_lossy(line).trim_end()
            );
        }
        let _ = writeln!(out, "{:margin$} +{}", "", "-".repeat(COLUMNS + 1));
        let mut axis = vec![' '; margin + 2 + COLUMNS + 12];
        let mut free = 0;
        for (place, word) in x.marks() {
            let start = (margin + 2 + (place * COLUMNS as f64).round() as usize)
                .saturating_sub(word.chars().count() / 2);
            if start >= free && start + word.chars().count() <= axis.len() {
                for (cell, character) in axis[start..].iter_mut().zip(word.chars()) {
                    *cell = character;
                }
                free = start + word.chars().count() + 1;
            }
        }
        let _ = writeln!(
            out,
            "{}   {}",
            axis.iter().collect::<String>().trim_end(),
            self.x.label
        );
        for (series, mark) in self.series.iter().zip(MARKS.iter().cycle()) {
            if !series.name.is_empty() {
                let _ = writeln!(out, "  {} {}", char::from(*mark), series.name);
            }
        }
        if !self.caption.is_empty() {
            let _ = writeln!(out, "{}", self.caption);
        }
        out
    }
}
