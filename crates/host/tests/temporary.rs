//! Directories go away.

use std::fs;

use host::temporary::{Directory, sweep_leftovers};

#[test]
fn gone_after_drop_and_leftovers_are_swept() {
    let directory = Directory::new("test").unwrap();
    let path = directory.path().to_owned();
    fs::write(path.join("file"), "x").unwrap();
    let leftover = std::env::temp_dir().join(format!("corelane-{}-test-0", u32::MAX));
    fs::create_dir_all(&leftover).unwrap();
    sweep_leftovers();
    assert!(path.exists() && !leftover.exists());
    drop(directory);
    assert!(!path.exists());
}
