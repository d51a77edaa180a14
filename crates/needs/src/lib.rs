//! What a test needs of its machine, and what it says where that is not there.
//!
//! A test that cannot run says `skipped: WHY` and passes. With `CORELANE_REQUIRE_ALL=1` it fails
//! instead, unless `.ci/cannot` excuses it: each line of that file has words of an excused reason,
//! a colon, and why the machine cannot do better. For tests only: nothing ships with it.

use std::fmt::Display;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says why a test, or the rest of it, is skipped; formats like [`println!`].
#[macro_export]
macro_rules! skipped {
    ($($why:tt)+) => { $crate::skip(&::std::format!($($why)+)) };
}

/// The function behind [`skipped!`].
///
/// # Panics
/// If everything is required and the reason is not excused.
pub fn skip(why: &str) {
    println!("skipped: {why}");
    if std::env::var_os("CORELANE_REQUIRE_ALL").is_some_and(|set| set == "1") {
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/cannot");
        let excuses = std::fs::read_to_string(&list).unwrap_or_default();
        assert!(
            excused(&excuses, why),
            "skipped: {why}: every test is required here; provide it, or excuse it in {}",
            list.display()
        );
    }
}

fn excused(excuses: &str, why: &str) -> bool {
    excuses
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .any(|(words, _)| why.contains(words))
}

/// Whether `there`; says what is needed if not.
pub fn that(there: bool, what: impl Display) -> bool {
    if !there {
        skipped!("needs {what}");
    }
    there
}

/// Whether the test runs as root, which it needs `purpose`: "to make network namespaces".
pub fn root(purpose: &str) -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    that(root, format_args!("root {purpose}"))
}

/// Whether the test may use two cores.
pub fn two_cores() -> bool {
    let cores = std::thread::available_parallelism();
    that(cores.is_ok_and(|cores| cores.get() > 1), "two cores")
}

/// This machine's cores, which one test at a time measures on, of whatever test program.
#[derive(Debug)]
#[must_use = "the cores are given back when this is dropped"]
pub struct Cores(#[allow(dead_code, reason = "the lock goes when it is closed")] File);

/// Waits for the cores: for a test that measures, or that moves threads between them. Others would
/// take them from it.
///
/// # Panics
/// If this crate's files cannot be read, or locks do not work on them.
pub fn cores() -> Cores {
    let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    file.lock().unwrap();
    Cores(file)
}

/// Where Debian's packages put `program`, if one did.
fn place(program: &str) -> Option<PathBuf> {
    let places = ["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/lib/frr"];
    let mut places = places
        .map(|place| Path::new(place).join(program))
        .into_iter();
    places.find(|place| place.exists())
}

/// Whether `program` is installed.
pub fn program(program: &str) -> bool {
    that(place(program).is_some(), program)
}

/// `program` by its place: the path of an ordinary user leads to no program of the system's.
pub fn command(program: &str) -> Option<Command> {
    let place = place(program);
    that(place.is_some(), program);
    place.map(Command::new)
}

#[cfg(test)]
#[path = "../tests/unit/lib.rs"]
mod tests;
