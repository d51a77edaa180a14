use super::*;

#[test]
fn what_is_owed_is_repaid_slowly_and_what_is_owed_too_long_is_skipped() {
    let schedule = Schedule::constant(1e6, 0.1);
    let mut pacer = Pacer::new(&schedule, BURST);
    // Held up for 5 ms at the start, then looking every 10 us.
    let (mut now, mut sent, mut most) = (5_000_000, 0, 0);
    while !pacer.finished() {
        let go = pacer.allowed(now);
        pacer.went(go, now);
        if sent > 0 {
            most = most.max(go);
        }
        sent += go;
        now += 10_000;
    }
    assert_eq!(sent, 100_000, "nothing was skipped");
    assert!(
        most <= 11,
        "{most} in 10 us are more than a tenth above the rate"
    );
    assert!(now < 100_100_000, "{now}");
    assert_eq!(pacer.place(70_000), 70_001);

    let mut late = Pacer::new(&schedule, BURST);
    let go = late.allowed(30_000_000);
    assert_eq!(go, 64);
    late.went(go, 30_000_000);
    assert_eq!(late.place(63), 64);
    assert_eq!(
        late.place(64),
        30_001 - 10_000 + 1,
        "what is older than 10 ms is skipped"
    );
    assert_eq!(late.worst_lateness_ns(), 30_000_000);
}
