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
