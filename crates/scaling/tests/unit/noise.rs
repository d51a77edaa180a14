use super::*;
use crate::calibration::synthetic::Machine;

#[test]
fn a_quiet_judge_with_good_eyes_holds() {
    let nothing: Vec<Block> = (0..1000)
        .flat_map(|seed| Machine::new(seed).blocks(LEAST, 1.0))
        .collect();
    let found = Noise::of(&nothing, &Machine::new(1).blocks(BLOCKS, 1.03), 1);
    assert_eq!(found.comparisons, 1000);
    assert!(found.holds(), "{found:?}");
}

#[test]
fn one_that_cries_wolf_or_is_blind_does_not() {
    let (alike, apart) = (
        Machine::new(2).blocks(10 * LEAST, 1.0),
        Machine::new(3).blocks(10 * LEAST, 1.2),
    );
    let wolf = Noise::of(&apart, &apart, 1);
    assert!(wolf.different > 5 && !wolf.holds(), "{wolf:?}");
    let blind = Noise::of(&alike, &alike, 1);
    assert!(blind.found < POWER && !blind.holds(), "{blind:?}");
}
