//! The loops touch what they say.

use host::loops::{LINE, buffer, fill, read, spin, thrash};

#[test]
fn loops_touch_what_they_say() {
    let mut words = buffer(1 << 16);
    fill(&mut words, 3);
    assert_eq!(read(&words), 3 * (1 << 13));
    let mut place = 0;
    thrash(&mut words, (1 << 16) / LINE, &mut place);
    assert_eq!(
        words.iter().filter(|&&w| w == 4).count(),
        (1 << 16) / LINE,
        "every line once"
    );
    assert_ne!(spin(10, 1), spin(11, 1));
}
