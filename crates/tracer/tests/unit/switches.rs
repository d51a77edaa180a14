use super::*;

#[test]
fn words_are_taken_apart_as_they_are_put_together() {
    let thread = 4_194_303_u64;
    let woken = 77_u64;
    let word = 1 << 63 | thread << 41 | woken << 19 | 3;
    let waking = Kind::Waking {
        woken: 77,
        target: 3,
        by: Context::Thread,
        new: false,
    };
    assert_eq!(unpack(word), (4_194_303, waking));
    let switch = |rest: u64| match unpack(5 << 41 | 6 << 19 | rest) {
        (5, Kind::Switch { left, next: 6 }) => left,
        other => panic!("{other:?}"),
    };
    assert_eq!(switch(0), Left::Runnable);
    assert_eq!(switch(1 << 18), Left::Preempted);
    assert_eq!(switch(1), Left::Sleeping);
    assert_eq!(switch(0x2002), Left::Uninterruptible);
    assert_eq!(switch(0x402), Left::Idle);
    assert_eq!(switch(0x80), Left::Dead);
    assert_eq!(switch(0x8000), Left::Uninterruptible);
    assert_eq!(switch(0x104), Left::Stopped);
}
