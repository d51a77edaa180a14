use super::*;

#[test]
fn the_bounds_for_two_cores_are_all_there() {
    let claims = claims(2);
    let with_must = claims.iter().filter(|claim| claim.target.must.is_some());
    assert_eq!(with_must.count(), 1 + 4 + 10);
    assert!(super::claims(1).iter().all(|claim| claim.ours.workers == 1));
}
