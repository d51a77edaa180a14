use super::*;

#[test]
fn a_word_is_due_ten_times_a_second_or_once_when_it_holds_for_ever() {
    let began = Instant::now();
    let at = |milliseconds| began + Duration::from_millis(milliseconds);
    let mut vouching = Vouching::new(Some(Duration::from_millis(500)));
    assert!(vouching.is_due(began) && vouching.silence(began).is_none());
    vouching.latest = Some(began);
    assert!(!vouching.is_due(at(99)) && vouching.is_due(at(100)));
    assert_eq!(vouching.silence(at(500)), None);
    let silence = vouching.silence(at(501));
    assert_eq!(silence, Some(Duration::from_millis(501)));
    vouching.set_bound(None);
    assert!(vouching.is_due(at(600)));
    vouching.latest = Some(at(600));
    assert!(!vouching.is_due(at(100_000)));
    assert_eq!(vouching.silence(at(100_000)), None);
}
