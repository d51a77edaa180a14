use super::*;

#[test]
fn the_first_end_costs_no_pause_and_those_that_follow_cost_more_and_more() {
    let began = Instant::now();
    let mut recovery = Recovery::default();
    assert!(!recovery.is_resting() && !recovery.is_due(began));
    let mut now = began;
    for seconds in [0, 1, 2, 4, 8, 16, 32, 64, 64] {
        assert_eq!(recovery.ended(now), Duration::from_secs(seconds));
        let due = now + Duration::from_secs(seconds);
        assert!(recovery.is_resting() && recovery.is_due(due));
        assert_eq!(recovery.is_due(now), seconds == 0);
        recovery.started();
        assert!(!recovery.is_resting());
        now = due + Duration::from_secs(30);
    }
    now += Duration::from_hours(1);
    assert_eq!(recovery.ended(now), Duration::ZERO, "long forgotten");
    assert_eq!(recovery.ends(), 10);
}
