use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

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

#[test]
fn a_loss_is_theirs_who_had_the_core_if_it_is_no_larger_than_what_came_meanwhile() {
    let trial = Disturbance {
        waited: 0.003,
        away: 0.001,
        ..Disturbance::default()
    };
    assert_eq!(trial.noise(), None);
    let words = trial.explains(4_927, 772_053).unwrap();
    assert!(words.contains("4927 frames were lost"), "{words}");
    assert!(words.contains("0.40 %"), "{words}");
    assert_eq!(trial.explains(0, 772_053), None);
    assert_eq!(trial.explains(7_000, 772_053), None);
    let alone = Disturbance {
        waited: 0.0009,
        ..Disturbance::default()
    };
    assert_eq!(alone.explains(1, 772_053), None);
    // A core that stood still for 0.4 ms of 0.8 s.
    let still = Disturbance {
        away: 0.0005,
        ..Disturbance::default()
    };
    assert!(still.explains(200, 640_000).is_some());
    assert_eq!(still.explains(700, 640_000), None);
}

#[test]
fn what_is_lost_far_beyond_what_they_took_is_lost_without_them_too() {
    let of = |waited, steal| Disturbance {
        steal,
        waited,
        ..Disturbance::default()
    };
    // 1 % of the time explains 2 % of the frames.
    assert!(of(0.01, 0.0).is_beside_the_point(200, 1_000));
    assert!(!of(0.01, 0.0).is_beside_the_point(70, 1_000));
    // Of a device that is only just overloaded an undisturbed trial tells.
    assert!(!of(0.001, 0.0).is_beside_the_point(40, 1_000));
    assert!(!of(0.0, 0.1).is_beside_the_point(700, 1_000));
    assert!(of(0.0, 0.1).is_beside_the_point(900, 1_000));
}

/// How long a thread waits for strangers on a core that it shares with a worker, as a watch says
/// that does not know of the worker, and as one says that does.
fn waits_beside_a_worker() -> (f64, f64) {
    let core = host::allowed_cores().unwrap()[0];
    let end = AtomicBool::new(false);
    let (tell, told) = mpsc::channel();
    let (strangers, ours) = thread::scope(|scope| {
        scope.spawn(|| {
            let _pinned = host::Pinned::to(core).unwrap();
            tell.send(host::process::this_thread()).unwrap();
            while !end.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let _pinned = host::Pinned::to(core).unwrap();
        let worker = told.recv().unwrap();
        let strangers = Watch::new(&[core], &[]);
        let ours = Watch::new(&[core], &[]).with_workers(&[worker]);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(100) {}
        let found = (strangers.end(), ours.end());
        end.store(true, Ordering::Relaxed);
        found
    });
    (strangers.waited, ours.waited)
}

/// Two threads that compute share a core, so each waits for half of the time. Beside other tests
/// there are strangers as well, which may leave the worker little.
#[test]
fn waiting_for_the_devices_workers_is_no_disturbance() {
    const LOOKS: usize = 5;
    let looks: Vec<_> = (0..LOOKS).map(|_| waits_beside_a_worker()).collect();
    let told = |&(strangers, ours): &(f64, f64)| strangers > 0.2 && ours < strangers - 0.15;
    assert!(looks.iter().any(told), "{looks:?}");
}
