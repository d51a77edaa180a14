use super::*;

/// A run of 50 ms on two cores, of which the command had `own` and the kernel saw `busy`.
fn run(own: f64, busy: f64, steal: f64) -> Seen {
    Seen {
        wall: 0.05,
        capacity: 0.1,
        busy,
        steal,
        own,
    }
}

/// Numbers of the disturbed among so many equal runs.
fn disturbed(count: usize, run: &Seen) -> Vec<usize> {
    let mut window = Window::default();
    for number in 0..count {
        window.add(number, run);
    }
    window.disturbed()
}

#[test]
fn short_runs_are_judged_together() {
    assert_eq!(disturbed(40, &run(0.06, 0.06, 0.0)), [0; 0]);
    assert_eq!(
        disturbed(40, &run(0.06, 0.07, 0.0)).len(),
        40,
        "others had a tenth"
    );
    assert_eq!(disturbed(40, &run(0.06, 0.06, 0.01)).len(), 40, "stolen");
    assert_eq!(
        disturbed(3, &run(0.06, 0.09, 0.0)),
        [0; 0],
        "too little to tell"
    );
    assert_eq!(disturbed(5, &run(0.02, 0.09, 0.0)).len(), 5);
}

#[test]
fn a_calm_window_clears_no_other() {
    let mut window = Window::default();
    for number in 0..40 {
        window.add(
            number,
            &run(0.06, if number < 20 { 0.06 } else { 0.08 }, 0.0),
        );
    }
    assert_eq!(window.disturbed(), (20..40).collect::<Vec<_>>());
}
