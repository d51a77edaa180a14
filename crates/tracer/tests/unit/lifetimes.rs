use super::*;

fn name(address: u64, length: u64, name: &str, until: Option<u64>) -> AddressName {
    AddressName {
        process: 7,
        address,
        length,
        name: name.to_owned(),
        source: NameSource::Marker,
        until,
    }
}

fn at(lifetimes: &Lifetimes, address: u64, time: u64) -> Option<&str> {
    let object = Object {
        process: 7,
        address,
        number: lifetimes.number(7, address, time),
    };
    lifetimes.name(object).map(|name| name.name.as_str())
}

#[test]
fn the_time_says_which_lock_lay_there() {
    let lifetimes = Lifetimes::new(&[
        name(100, 16, "first", Some(1_000)),
        name(100, 16, "second", Some(2_000)),
        name(200, 8, "other", None),
    ]);
    // The last byte of a lock is its own, the next is nobody's.
    for address in [100, 115] {
        let at = |time| at(&lifetimes, address, time);
        assert_eq!([at(0), at(999)], [Some("first"); 2]);
        assert_eq!([at(1_000), at(1_999)], [Some("second"); 2]);
        assert_eq!(at(2_000), None, "a lock that nobody named");
    }
    assert_eq!(at(&lifetimes, 116, 0), None);
    assert_eq!(at(&lifetimes, 207, 5_000), Some("other"));
    assert_eq!(lifetimes.number(8, 100, 5_000), 0);
}

#[test]
fn without_an_end_there_is_one_lock_at_an_address() {
    let lifetimes = Lifetimes::new(&[name(100, 16, "only", None)]);
    assert_eq!(lifetimes.number(7, 100, u64::MAX), 0);
    assert_eq!(at(&lifetimes, 104, 9), Some("only"));
}
