use super::*;

#[test]
fn what_is_not_needed_goes() {
    let needs = |items: &[u32]| Ok(items.contains(&3) && items.contains(&17));
    assert_eq!(fewest((0..20).collect(), needs).unwrap(), [3, 17]);
    let nothing: Vec<u32> = fewest(Vec::new(), |_| Ok(true)).unwrap();
    assert!(nothing.is_empty());
}
