use super::*;

#[test]
fn every_period_is_counted_and_the_worst_is_the_worst() {
    let core = host::cores::allowed_cores().unwrap()[0];
    let periodic = Periodic {
        core,
        period: Duration::from_millis(1),
        steps: 100,
        time: Duration::from_millis(120),
        priority: false,
    };
    let seen = run(periodic, || false);
    assert_eq!(seen.periods, 120);
    assert!(seen.late[0] <= seen.late[1] && seen.late[1] <= seen.late[2]);
    assert!(!seen.worst_cause.is_empty());
}

#[test]
fn causes_are_named_by_the_surest_evidence() {
    assert!(cause(3, 0.02, 0.5, &[], 5).contains("hypervisor took 20 ms"));
    assert!(cause(1, 0.0, 0.0, &[], 5).contains("another task took the core 1 time"));
    assert!(cause(0, 0.0, 0.04, &[], 5).contains("other tasks used the core for 40 ms"));
    assert!(
        cause(0, 0.0, 0.0, &[("softirq NET_RX".to_owned(), 50)], 5)
            .contains("50 times softirq NET_RX")
    );
    assert!(cause(0, 0.0, 0.0, &[], 5).contains("nothing"));
}
