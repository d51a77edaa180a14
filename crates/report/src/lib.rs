//! How results are shown: units, tables, plots, one-file HTML, JSON, progress.
//!
//! Everything here is a plain function of its arguments. Nothing measures, nothing takes a clock,
//! and the only input or output is the writing of a finished result ([`json::write`],
//! [`html::write`]) and of progress to a terminal ([`Progress`]). So a table or plot can be tested
//! with plain values, and drawn again from a stored result.
//!
//! A command fills a [`Document`]: verdict first, then blocks in reading order. The same document
//! becomes terminal text ([`terminal::render`]) and a web page in one file ([`html::render`]) that
//! loads nothing, fits a phone, prints, and follows the reader's light or dark setting.
//!
//! ```
//! use report::{Axis, Block, Document, Plot, Series, Table};
//! use report::units::FramesPerSecond;
//!
//! let table = Table::new("One core")
//!     .text("engine")
//!     .number("frames/s")
//!     .row(["memory".to_owned(), FramesPerSecond(31.4e6).to_string()])
//!     .caption("One worker, 64-byte frames.");
//! let plot = Plot::new("Throughput", Axis::new("frame bytes"), Axis::new("bits per
//! second").from_zero())
//!     .series(Series::line("memory").point(64.0, 16e9).spread(128.0, 30e9, 29e9, 31e9));
//! let document = Document::new("Study")
//!     .verdict("The second core adds 98 %.")
//!     .block(Block::Table(table))
//!     .block(Block::Plot(plot));
//! assert!(report::html::render(&document).contains("The second core adds 98 %."));
//! assert!(report::terminal::render(&document).contains("31.4 M frames/s"));
//! ```
//!
//! Not here: interactive charts, translation.

pub mod document;
mod escape;
pub mod html;
pub mod json;
pub mod plot;
pub mod progress;
pub mod quantity;
pub mod table;
pub mod talk;
pub mod terminal;
pub mod units;

pub use document::{Block, Document, capital};
pub use plot::{Axis, Plot, Scale, Series, Style};
pub use progress::Progress;
pub use table::Table;
pub use talk::{Talk, hint};
