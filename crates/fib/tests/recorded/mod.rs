//! The recorded table, where there is one.

use std::path::{Path, PathBuf};
use std::process::Command;

use fib::prefix_file::{self, Prefixes};

/// The table that `CORELANE_PREFIXES` names, or the one in `../shared/data`; none, said aloud,
/// where there is neither.
pub(crate) fn table() -> Option<Prefixes> {
    let named = std::env::var_os("CORELANE_PREFIXES").map(PathBuf::from);
    let beside =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/internet-prefixes.txt.gz");
    let Some(path) = named.or_else(|| beside.exists().then_some(beside)) else {
        needs::skipped!(
            "needs a recorded table: set CORELANE_PREFIXES to a file with one prefix a line"
        );
        return None;
    };
    let text = if path.extension().is_some_and(|extension| extension == "gz") {
        Command::new("gzip")
            .arg("-dc")
            .arg(&path)
            .output()
            .expect("gzip runs")
            .stdout
    } else {
        std::fs::read(&path).expect("the table named can be read")
    };
    Some(prefix_file::read(&text[..], &path.display().to_string()).expect("the table is good"))
}
