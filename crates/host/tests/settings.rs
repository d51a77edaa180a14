//! Settings are given back.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use host::process;
use host::settings::{Setting, sweep_leftovers};
use host::temporary::Directory;

const JOURNAL: &str = "/run";
/// Names the file that [`a_process_that_is_killed`] changes.
const FILE: &str = "CORELANE_TEST_SETTING";

#[test]
fn what_a_dead_process_changed_is_given_back_and_what_a_living_one_changed_is_not() {
    if !process::is_root() {
        needs::skipped!("the journal in {JOURNAL} needs root");
        return;
    }
    let directory = Directory::new("settings").unwrap();
    let file = directory.path().join("setting");
    fs::write(&file, "before\n").unwrap();
    let changed = Setting::change(&file, "after").unwrap();
    sweep_leftovers();
    assert_eq!(fs::read_to_string(&file).unwrap(), "after");
    drop(changed);
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");

    fs::write(&file, "crashed").unwrap();
    let note = Path::new(JOURNAL).join(format!("corelane-setting-{}-0", u32::MAX));
    fs::write(&note, format!("{}\nbefore", file.display())).unwrap();
    sweep_leftovers();
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    assert!(!note.exists());
}

/// What another process does in the next test; without a file it has nothing to do.
#[test]
fn a_process_that_is_killed() {
    if let Some(file) = std::env::var_os(FILE) {
        let _changed = Setting::change(Path::new(&file), "after").unwrap();
        thread::sleep(Duration::from_mins(1));
    }
}

#[test]
fn what_a_killed_process_changed_is_given_back_at_once() {
    if !needs::root("for the journal of settings") {
        return;
    }
    let directory = Directory::new("settings").unwrap();
    let file = directory.path().join("setting of one");
    fs::write(&file, "before\n").unwrap();
    let until = |wanted: &str| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while fs::read_to_string(&file).unwrap() != wanted {
            assert!(
                Instant::now() < deadline,
                "{}",
                fs::read_to_string(&file).unwrap()
            );
            thread::sleep(Duration::from_millis(5));
        }
    };
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "settings::a_process_that_is_killed"])
        .env(FILE, &file)
        .spawn()
        .unwrap();
    until("after");
    other.kill().unwrap();
    other.wait().unwrap();
    until("before");
}
