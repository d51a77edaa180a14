use super::*;

#[test]
fn difference_of_two_readings() {
    let times = |steal, idle| Times {
        idle,
        steal,
        ..Times::default()
    };
    let first = Reading {
        times: times(10.0, 990.0),
        voluntary: 1,
        involuntary: 2,
        ran: 0.5,
    };
    let second = Reading {
        times: times(15.0, 1_985.0),
        voluntary: 4,
        involuntary: 2,
        ran: 1.25,
    };
    let noise = first.until(&second);
    assert_eq!(
        noise,
        Noise {
            steal: 0.005,
            voluntary_switches: 3,
            involuntary_switches: 0,
            ran_seconds: 0.75,
        }
    );
    assert!(noise.is_noisy());
}

#[test]
fn sleeping_is_a_voluntary_switch() {
    let first = Reading::now(&[CoreId(0)]);
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert!(first.until(&Reading::now(&[CoreId(0)])).voluntary_switches >= 1);
}
