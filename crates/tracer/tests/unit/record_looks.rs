use super::*;

#[test]
fn words_that_are_waited_for_often_are_looked_at_and_no_others() {
    let words = [13_u32, 2, 7, 4711];
    let mut lookout = Lookout::default();
    assert_eq!(lookout.pause(), None);
    let address = &raw const words[1] as u64;
    (1..OFTEN).for_each(|_| lookout.waits(std::process::id(), address));
    lookout.choose();
    assert_eq!(lookout.pause(), None);
    lookout.waits(std::process::id(), address);
    lookout.choose();
    let pause = lookout.pause().expect("a word is waited for often");
    assert!(pause >= PAUSE / 2 && pause < PAUSE * 3 / 2, "{pause:?}");
    lookout.look(Duration::ZERO);
    let found = lookout.finish();
    assert_eq!(found.len(), 1);
    let Look {
        before,
        word,
        after,
        ..
    } = found[0].looks[0];
    assert_eq!((before, word, after), (13, 2, 4711));
}

#[test]
fn the_word_before_a_page_is_left_alone() {
    let page = Page::new();
    let memory = File::open("/proc/self/mem").expect("our own memory");
    let words = around(&memory, page.0.as_ptr() as u64).expect("the page is there");
    assert_eq!(words, [0, 1, 2, 3]);
}

/// Words at the beginning of a page.
#[repr(align(4096))]
struct Page([u32; 1024]);

impl Page {
    fn new() -> Box<Self> {
        let mut page = Box::new(Self([0; 1024]));
        page.0[..3].copy_from_slice(&[1, 2, 3]);
        page
    }
}

#[test]
fn a_long_recording_keeps_no_more_looks_and_takes_longer_pauses() {
    let word = [1_u32; 3];
    let mut lookout = Lookout::default();
    (0..OFTEN).for_each(|_| lookout.waits(std::process::id(), word.as_ptr() as u64));
    lookout.choose();
    for _ in 0..KEPT * 3 {
        lookout.look(Duration::ZERO);
    }
    assert!(lookout.pause >= PAUSE * 4, "{:?}", lookout.pause);
    let kept = lookout.finish()[0].looks.len();
    assert!((KEPT / 4..=KEPT).contains(&kept), "{kept}");
}

#[test]
fn where_the_last_part_is_kept_older_looks_go_and_pauses_stay() {
    let word = [1_u32; 3];
    let mut lookout = Lookout {
        last: Some(0),
        ..Lookout::default()
    };
    (0..OFTEN).for_each(|_| lookout.waits(std::process::id(), word.as_ptr() as u64));
    lookout.choose();
    for _ in 0..KEPT * 3 {
        lookout.look(Duration::ZERO);
    }
    assert_eq!(lookout.pause, PAUSE);
    assert!(lookout.kept <= KEPT, "{}", lookout.kept);
}

#[test]
fn looks_that_the_scheduler_let_wait_do_not_count() {
    let word = [1_u32; 3];
    let of = |late: u64, in_time: u64| {
        let mut lookout = Lookout::default();
        (0..OFTEN).for_each(|_| lookout.waits(std::process::id(), word.as_ptr() as u64));
        lookout.choose();
        (0..late).for_each(|_| lookout.look(LATE * 2));
        (0..in_time).for_each(|_| lookout.look(LATE));
        let found = lookout.finish();
        found.first().map_or(0, |looks| looks.looks.len())
    };
    assert_eq!(of(0, 40), 40);
    assert_eq!(of(2, 38), 38);
    assert_eq!(of(3, 37), 0, "too many were late");
}
