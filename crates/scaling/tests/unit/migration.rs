use super::*;

#[test]
fn a_line_comes_back() {
    let cores = host::cores::allowed_cores().unwrap();
    if !needs::two_cores() {
        return;
    }
    assert!(round_trip(cores[0], cores[1]) > 1e-9);
    assert!(call(cores[0], cores[1], 20) > 0.0);
}
