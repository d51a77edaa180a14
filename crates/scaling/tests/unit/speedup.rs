use super::*;

#[test]
fn karp_flatt_returns_the_serial_share_that_amdahl_was_given() {
    let amdahl = |serial: f64, cores| 1.0 / (serial + (1.0 - serial) / f64::from(cores));
    for serial in [0.0, 0.05, 0.3, 1.0] {
        for cores in [2, 3, 8, 64] {
            let back = karp_flatt(amdahl(serial, cores), cores).unwrap();
            assert!((back - serial).abs() < 1e-12, "{serial} on {cores}: {back}");
        }
    }
    assert_eq!(karp_flatt(1.0, 1), None);
}
