//! The matrix: a row for each engine with its best table, a column for each frame size that was
//! measured.

use dut::case::FRAME_SIZES;
use report::Table as Shown;

use crate::answer::engines;
use crate::result::Study;
use crate::row::Row;
use crate::sentences::{cores_in_words, engine_in_words};
use crate::tables::{NOTHING, rate_of};

/// Frames a second on all cores, what these are of one core's, and frames a second on one core.
pub(crate) fn all(study: &Study) -> Vec<Shown> {
    let cores = cores_in_words(study.cores);
    let one = matrix(study, "One core, frames/s", 1, rate_of);
    if study.cores < 2 {
        return vec![one];
    }
    let rates = matrix(study, &format!("{cores}, frames/s"), study.cores, rate_of);
    let times = format!("{cores}, times one core");
    let ups = matrix(study, &times, study.cores, |row| {
        let times = study.speed_up(row);
        times.map_or(NOTHING.to_owned(), |times| format!("{times:.2}"))
    });
    vec![rates, ups, one]
}

fn matrix(study: &Study, title: &str, workers: usize, cell: impl Fn(&Row) -> String) -> Shown {
    let was_measured = |size: &u32| {
        let mut rows = study.forwarding.iter();
        rows.any(|row| row.key.frame_bytes == *size)
    };
    let sizes: Vec<u32> = FRAME_SIZES.into_iter().filter(was_measured).collect();
    let headings = sizes.iter().map(u32::to_string);
    let mut shown = headings.fold(Shown::new(title).text("frame bytes"), Shown::number);
    for (engine, table) in engines(study) {
        let workers = workers.min(study.most_workers(engine));
        let cells = sizes.iter().map(|&size| {
            let row = study.row(engine, table, workers, size, 0);
            row.map_or(NOTHING.to_owned(), &cell)
        });
        let name = report::capital(engine_in_words(engine));
        shown.push(std::iter::once(name).chain(cells));
    }
    shown
}

#[cfg(test)]
#[path = "../tests/unit/matrix.rs"]
mod tests;
