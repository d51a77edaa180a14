//! Settings are given back.

use std::fs;
use std::path::Path;

use host::process;
use host::settings::{Setting, sweep_leftovers};
use host::temporary::Directory;

const JOURNAL: &str = "/run";

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
