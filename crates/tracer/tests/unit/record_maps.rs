//! Of `tracer/src/record/maps.rs`.

use super::*;
use crate::record::elsewhere::Place;

fn mapping(start: u64) -> Vec<Mapping> {
    vec![Mapping {
        start,
        end: start + 100,
        path: "/bin/true".to_owned(),
        first: start,
        place: Place::Here,
    }]
}

#[test]
fn a_list_is_read_when_it_is_missing_or_outdated() {
    let mut maps = Maps::default();
    let unread = |_: Tid| -> Vec<Mapping> { panic!("read again") };
    let ask = |maps: &mut Maps, address, read: &dyn Fn(Tid) -> Vec<Mapping>| {
        maps.around_by(7, address, What::Word, read).is_some()
    };
    assert!(ask(&mut maps, 10, &|_| mapping(0)));
    assert!(ask(&mut maps, 99, &unread));
    assert!(!ask(&mut maps, 500, &unread), "in the same turn");
    maps.turn();
    assert!(ask(&mut maps, 500, &|_| mapping(450)));
    maps.turn();
    assert!(!ask(&mut maps, 10, &|_| Vec::new()));
    assert_eq!(
        maps.of(7).len(),
        1,
        "the last list of a process that is gone"
    );
    assert!(maps.of(8).is_empty());
}

#[test]
fn code_in_no_list_costs_fewer_and_fewer_readings() {
    let mut maps = Maps::default();
    let mut readings = Vec::new();
    for turn in 0..300 {
        maps.around_by(7, 500, What::Code, |_| {
            readings.push(turn);
            mapping(0)
        });
        maps.turn();
    }
    assert_eq!(readings, [0, 1, 3, 7, 15, 31, 63, 127, 191, 255]);
    let word = maps.around_by(7, 600, What::Word, |_| mapping(550));
    assert!(word.is_some(), "a word does not wait");
}
