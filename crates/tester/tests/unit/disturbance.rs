use super::*;

#[test]
fn noise_has_its_evidence() {
    assert_eq!(Disturbance::default().noise(), None);
    let of = |steal, waited| Disturbance {
        steal,
        away: 0.0,
        waited,
        involuntary_switches: 9,
    };
    assert!(
        of(0.01, 0.0)
            .noise()
            .unwrap()
            .contains("hypervisor took 1.00 %")
    );
    assert!(of(0.0, 0.042).noise().unwrap().contains("4.2 %"));
    assert_eq!(of(0.0005, 0.004).noise(), None);
    let away = Disturbance {
        away: 0.02,
        ..Disturbance::default()
    };
    assert!(away.noise().unwrap().contains("stood still for 2.0 %"));
}
