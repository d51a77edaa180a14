use super::*;

#[test]
fn words_that_are_waited_for_are_looked_at_and_no_others() {
    let words = [2_u32, 7, 4711, 0];
    let mut lookout = Lookout::default();
    assert_eq!(lookout.pause(), None);
    lookout.waits(std::process::id(), words.as_ptr() as u64);
    lookout.choose();
    let pause = lookout.pause().expect("a word is waited for");
    assert!(pause >= PAUSE / 2 && pause < PAUSE * 3 / 2, "{pause:?}");
    lookout.look();
    let found = lookout.finish();
    assert_eq!(found.len(), 1);
    let Look { word, after, .. } = found[0].looks[0];
    assert_eq!((word, after), (2, 4711));
}

#[test]
fn a_long_recording_keeps_no_more_looks_and_takes_longer_pauses() {
    let word = [1_u32; 3];
    let mut lookout = Lookout::default();
    lookout.waits(std::process::id(), word.as_ptr() as u64);
    lookout.choose();
    for _ in 0..KEPT * 3 {
        lookout.look();
    }
    assert!(lookout.pause >= PAUSE * 4, "{:?}", lookout.pause);
    let kept = lookout.finish()[0].looks.len();
    assert!((KEPT / 4..=KEPT).contains(&kept), "{kept}");
}
