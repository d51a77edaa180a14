use super::*;
use crate::sizes::Family;

#[test]
fn seven_to_four_to_one() {
    let count = |size| IMIX.iter().filter(|&&each| each == size).count();
    assert_eq!((count(64), count(570), count(1518)), (7, 4, 1));
    assert_eq!(imix(Family::Ipv6)[0], 84);
}
