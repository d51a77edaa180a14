use std::os::unix::fs::symlink;

use super::*;

#[test]
fn planted_links_are_neither_written_nor_read_through() {
    let theirs = std::env::temp_dir().join(format!("marker-theirs-{}", std::process::id()));
    std::fs::write(&theirs, "kept").expect("a directory for temporary files");
    // Numbers of processes that live and mark nothing.
    let [kept, followed] = [1, std::os::unix::process::parent_id()];
    for process in [kept, followed] {
        let _ = std::fs::remove_file(path(process));
    }
    symlink(&theirs, path(kept)).expect("nothing has the name");
    let page = make(kept).expect("the link does not hinder it");
    assert_eq!(
        std::fs::read_to_string(&theirs).ok().as_deref(),
        Some("kept")
    );
    assert_eq!(Reader::open(kept).map(|page| page.process()), Some(kept));
    symlink(path(kept), path(followed)).expect("nothing has the name");
    page.page().head.process.store(followed, Ordering::Relaxed);
    assert!(Reader::open(followed).is_none());
    for made in [path(kept).into(), path(followed).into(), theirs] {
        std::fs::remove_file(made).expect("made above");
    }
}

#[test]
fn entries_of_names_that_are_over_are_used_when_there_is_no_other() {
    let process = u32::MAX - 7;
    let page = make(process).expect("nothing has the name");
    let entries = &page.page().entries;
    let all: Vec<&Entry> = std::iter::from_fn(|| claim(entries)).collect();
    assert_eq!(all.len(), ENTRIES);
    for (entry, until) in [(all[5], 40), (all[3], 30), (all[9], 50)] {
        entry.kind.store(OVER, Ordering::Release);
        entry.until.store(until, Ordering::Relaxed);
    }
    for expected in [3, 5, 9] {
        assert!(std::ptr::eq(
            claim(entries).expect("one is over"),
            all[expected]
        ));
    }
    assert!(claim(entries).is_none());
    std::fs::remove_file(path(process)).expect("made above");
}
