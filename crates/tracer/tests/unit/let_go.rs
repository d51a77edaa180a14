//! Of `tracer/src/analyse/waits/let_go.rs`.

use super::*;

const BARGES: Tid = 3;

fn stretch(from: u64, to: u64, taken: bool) -> LetGo {
    LetGo { from, to, taken }
}

#[test]
fn stretches_without_a_look_are_forgotten() {
    let mut finder = Finder::new(vec![5_000, 25_000, 27_000]);
    for begin in [10_000, 20_000, 30_000] {
        finder.wakes(1, begin);
        finder.goes_on(2, begin + 8_000);
        finder.wakes(2, begin + 9_500);
    }
    assert_eq!(finder.finish(), [stretch(19_500, 28_000, false)]);
}

#[test]
fn who_comes_to_wait_found_it_taken() {
    let mut finder = Finder::new(vec![12]);
    finder.wakes(1, 10);
    finder.waits(BARGES, 15);
    finder.goes_on(2, 18);
    assert_eq!(finder.finish(), [stretch(10, 15, true)]);
}

#[test]
fn a_woken_thread_that_waits_again_found_it_taken() {
    let mut again = Finder::new(vec![12, 40]);
    again.wakes(1, 10);
    again.goes_on(2, 18);
    again.waits(2, 19);
    let mut later = Finder::new(vec![12]);
    later.wakes(1, 10);
    later.goes_on(2, 18);
    later.wakes(2, 30);
    later.waits(2, 50);
    assert_eq!(again.finish(), [stretch(10, 18, true)]);
    assert_eq!(later.finish()[0], stretch(10, 18, false), "it had had it");
}

#[test]
fn nothing_is_known_across_missing_events() {
    let mut finder = Finder::new(vec![12, 22]);
    finder.wakes(1, 10);
    finder.forget();
    finder.goes_on(2, 18);
    assert_eq!(finder.finish(), []);
}
