//! Marks of this process, read back.

use marker::{CountedLock, Kind, Mark, Progress, name_lock, read};

fn mine() -> Vec<Mark> {
    read(std::process::id()).unwrap_or_default()
}

#[test]
fn names_come_and_go() {
    let named = name_lock(0x1000, 8, "short-lived");
    let mark = mine()
        .into_iter()
        .find(|mark| mark.name == "short-lived")
        .expect("it was just named");
    assert_eq!(
        (mark.kind, mark.address, mark.length),
        (Kind::Lock, 0x1000, 8)
    );
    assert!(mark.from > 0 && mark.until.is_none());
    drop(named);
    // Another lock in the same place has a name of its own, and both can be told apart by time.
    let _later = name_lock(0x1000, 8, "later there");
    let marks = mine();
    let at = |name: &str| marks.iter().find(|mark| mark.name == name);
    let (before, after) = (at("short-lived"), at("later there"));
    let (before, after) = (before.expect("over"), after.expect("just named"));
    assert_eq!((before.kind, before.from), (Kind::Lock, mark.from));
    assert!(before.until >= Some(before.from) && before.until <= Some(after.from));
    assert_eq!(after.until, None);
}

#[test]
fn progress_and_holds_are_counted() {
    let points = [Progress::new("packets"), Progress::new("packets")];
    points[0].add(3);
    points[1].add(4);
    let total: u64 = mine()
        .iter()
        .filter(|mark| mark.name == "packets")
        .map(|mark| mark.count)
        .sum();
    assert_eq!(total, 7);
    let lock = CountedLock::new(0x2000, 40, "counted");
    for _ in 0..5 {
        let since = lock.acquired();
        lock.release(since);
    }
    let mark = mine()
        .into_iter()
        .find(|mark| mark.name == "counted")
        .expect("a counted lock");
    assert_eq!(mark.count, 5);
}

#[test]
fn long_names_are_cut_at_a_character() {
    let long = "ü".repeat(60);
    let _named = name_lock(0x3000, 8, &long);
    let mark = mine()
        .into_iter()
        .find(|mark| mark.address == 0x3000)
        .expect("a long name");
    assert!(
        long.starts_with(&mark.name) && mark.name.len() > 50,
        "{}",
        mark.name
    );
}

#[test]
fn another_process_has_none() {
    assert!(read(u32::MAX).is_none());
}
