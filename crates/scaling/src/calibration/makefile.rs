//! The calibration load that is a Makefile: equal parts and a serial link, each a process of ours
//! that does a known number of steps, so that Amdahl's law with whole parts is the truth.

use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::loads::{STEPS, piece};
use crate::laws::speedup::karp_flatt;

/// Parts that can be made side by side.
pub const PARTS: u32 = 12;
/// The link's share of all steps.
const LINK: f64 = 0.2;

/// A kind of process that the Makefile starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// One of the parts.
    Part,
    /// The link, after all parts.
    Link,
}

impl Piece {
    /// The piece with this name.
    pub fn find(name: &str) -> Option<Self> {
        report::json::named(name)
    }

    /// Its name.
    pub fn name(self) -> String {
        report::json::name(&self)
    }

    /// Does its steps.
    pub fn run(self) {
        let part = STEPS / u64::from(PARTS);
        piece(match self {
            Self::Part => part,
            Self::Link => (LINK / (1.0 - LINK) * STEPS as f64) as u64,
        });
    }
}

/// Writes a Makefile into `directory` whose rules run `program` with the arguments `scale calibrate
/// --load` and a piece's name.
///
/// # Errors
/// When the file cannot be written.
pub fn write(directory: &Path, program: &str) -> io::Result<()> {
    let mut names = String::new();
    for part in 0..PARTS {
        let _ = write!(names, " part{part}");
    }
    // Make expands dollars, and the shell takes everything between single quotes as it is.
    let program = program.replace('$', "$$").replace('\'', "'\\''");
    let run = |piece: Piece| format!("\t@'{program}' scale calibrate --load {}\n", piece.name());
    let text = format!(
        "all: link\nlink:{names}\n{}{}:\n{}.PHONY: all link{names}\n",
        run(Piece::Link),
        names.trim_start(),
        run(Piece::Part)
    );
    fs::write(directory.join("Makefile"), text)
}

/// The serial fraction on `cores` cores: the parts are made in whole rounds.
pub fn fraction(cores: u32) -> f64 {
    let part = (1.0 - LINK) / f64::from(PARTS);
    let time = f64::from(PARTS.div_ceil(cores.max(1))) * part + LINK;
    karp_flatt(1.0 / time, cores).unwrap_or(0.0)
}

#[cfg(test)]
#[path = "../../tests/unit/makefile.rs"]
mod tests;
