//! Of `src/take_over/left.rs`.

use std::io::Write as _;

use fastpath::forward::PortCount;

use super::*;

fn left() -> Left {
    let count = PortCount {
        received: 7,
        ..PortCount::default()
    };
    let counted = Counted {
        ports: [((3, 0), count)].into(),
        ..Counted::default()
    };
    Left {
        reasons: reasons(),
        places: [(3, 0)].into(),
        in_map: Totals::default(),
        before: Totals::from(&counted),
    }
}

#[test]
fn what_was_written_is_read_and_nothing_stays_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = left().write(directory.path()).unwrap();
    let names = std::fs::read_dir(directory.path()).unwrap();
    assert_eq!(names.count(), 0);
    let read = Left::read(file).unwrap();
    assert_eq!(read.before, left().before);
    assert_eq!(read.places, left().places);
}

#[test]
fn where_nothing_can_be_written_and_what_is_none_of_ours_is_an_error() {
    assert!(left().write(Path::new("/proc")).is_err());
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"{}").unwrap();
    file.rewind().unwrap();
    assert!(Left::read(file).is_err());
}
