use super::*;

#[test]
fn a_saturated_memory_has_a_serial_fraction() {
    let ceiling = Ceiling {
        one: 10e9,
        all: 16e9,
        gain: 1.6,
        cores: 2,
    };
    assert!((ceiling.fraction() - 0.25).abs() < 1e-12);
    let alone = Ceiling {
        cores: 1,
        ..ceiling
    };
    assert!(alone.fraction().abs() < 1e-12);
}

#[test]
fn traffic_is_told_only_where_readers_disturb_each_other() {
    let seen = |beside_command, beside_reader| Traffic {
        beside_command,
        beside_reader,
    };
    assert!((seen(0.9, 0.6).in_readers().unwrap() - 0.25).abs() < 1e-12);
    assert!(seen(1.02, 0.6).in_readers().unwrap().abs() < 1e-12);
    assert_eq!(seen(0.9, 0.97).in_readers(), None);
}

#[test]
fn readers_read_and_rest() {
    let cores = host::cores::allowed_cores().unwrap();
    let caches = Caches {
        last: 1 << 20,
        second: 1 << 18,
    };
    let reader = Aggressor::start(Channel::MemoryReads, cores[0], 1.0, caches);
    let mut looks = (0..50).map(|_| reading(from_ref(&reader), 1));
    let active = looks.find(|active| *active > 0.0).expect("it reads");

    // What it was about when it was told to rest is one piece.
    assert!(reading(from_ref(&reader), 0) < 0.1 * active);
    // Beside others it may wait for its core for longer than one look.
    let goes_on = (0..100).any(|_| reading(from_ref(&reader), 1) > 0.0);
    assert!(goes_on, "it goes on");
}
