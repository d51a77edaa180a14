use super::*;

const SMALL: Caches = Caches {
    last: 1 << 20,
    second: 1 << 18,
};

#[test]
fn each_loop_counts_and_ends() {
    let cores = host::cores::allowed_cores().unwrap();
    let probe = Probe::new(SMALL);
    assert_eq!(probe.bytes(), 4 << 20);
    for work in [Work::Read, Work::Load(1 << 20), Work::Compute] {
        // Until it has done something, for the machine may be busy.
        let rate = (0..100).map(|_| probe.rate(&cores[..1], work, Duration::from_millis(5)));
        let rate = rate.into_iter().find(|rate| *rate > 0.0);
        assert!(rate.is_some_and(f64::is_finite), "{work:?}");
    }
}

#[test]
fn a_call_beside_readers_gives_its_result() {
    let cores = host::cores::allowed_cores().unwrap();
    let probe = Probe::new(SMALL);
    let (result, done, time) = probe.beside(&cores, Work::Read, || {
        thread::sleep(Duration::from_millis(5));
        7
    });
    assert_eq!(result, 7);
    assert!(time >= Duration::from_millis(5) && done >= 0.0);
}

#[test]
fn a_line_goes_between_two_cores() {
    if !needs::two_cores() {
        return;
    }
    let cores = host::cores::allowed_cores().unwrap();
    let time = line_move([cores[0], cores[1]], Duration::from_millis(20));
    assert!(time.is_finite() && time > 0.0, "{time}");
}
