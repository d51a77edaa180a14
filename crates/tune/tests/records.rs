//! Records are ours alone, and never half of one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use tune::record::Record;
use tune::{Records, Setting, TuneError};

fn record(rings: &str) -> Record {
    let mut record = Record::new("eth0", 7);
    record.before.push((Setting::Rings, rings.to_owned()));
    record
}

/// The only file of the records below a directory.
fn only_file(directory: &tempfile::TempDir) -> PathBuf {
    let mut files = fs::read_dir(directory.path().join("corelane-tune")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none(), "nothing beside {}", file.display());
    file
}

#[test]
fn a_record_is_for_its_owner_and_replaced_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let records = Records::open(directory.path()).unwrap();
    assert_eq!(records.load("eth0").unwrap(), None);
    for rings in ["rx 1 tx 1", "rx 2 tx 2"] {
        records.store(&record(rings)).unwrap();
        assert_eq!(records.load("eth0").unwrap(), Some(record(rings)));
    }
    let file = only_file(&directory);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    records.store(&Record::new("eth0", 7)).unwrap();
    assert!(!file.exists(), "a record of nothing goes");
}

#[test]
fn no_link_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let records = Records::open(directory.path()).unwrap();
    records.store(&record("rx 1 tx 1")).unwrap();
    let (file, other) = (only_file(&directory), directory.path().join("other"));
    fs::rename(&file, &other).unwrap();
    let text = fs::read(&other).unwrap();
    symlink(&other, &file).unwrap();
    assert!(matches!(
        records.load("eth0"),
        Err(TuneError::Record { .. })
    ));
    symlink(&other, file.with_extension("new")).unwrap();
    records.store(&record("rx 2 tx 2")).unwrap();
    assert_eq!(fs::read(&other).unwrap(), text);
    assert_eq!(records.load("eth0").unwrap(), Some(record("rx 2 tx 2")));

    let elsewhere = tempfile::tempdir().unwrap();
    symlink(directory.path(), elsewhere.path().join("corelane-tune")).unwrap();
    assert!(Records::open(elsewhere.path()).is_err());
}

#[test]
fn what_is_no_record_is_an_error_with_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let records = Records::open(directory.path()).unwrap();
    records.store(&record("rx 1 tx 1")).unwrap();
    let file = only_file(&directory);
    let text = fs::read_to_string(&file).unwrap();
    for broken in [
        &text[..text.len() / 2],
        &text.replace("record/1", "record/9"),
    ] {
        fs::write(&file, broken).unwrap();
        let error = records.load("eth0").unwrap_err().to_string();
        assert!(error.contains(file.to_str().unwrap()), "{error}");
    }
}
