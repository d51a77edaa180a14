use super::*;

#[test]
fn every_period_is_met_or_missed() {
    let core = host::cores::allowed_cores().unwrap()[0];
    for polls in [true, false] {
        let seen = measure(core, Duration::from_millis(20), polls);
        let all = seen.late.len() as u64 + seen.missed;
        assert!((1990..2100).contains(&all) || seen.missed > 0, "{all}");
        assert!(seen.busy <= 1.05);
    }
}
