use std::thread;

use dut::case::Sample;
use dut::device::Abilities;
use host::CoreId;
use host::counting::Counting;
use host::pressure::Caches;

use super::*;
use crate::model::probe::Probe;

/// Forwards as many frames each time as its list says.
struct Listed(Vec<f64>);

impl Device for Listed {
    fn abilities(&self) -> Abilities {
        unreachable!("nobody asks")
    }

    fn method(&self) -> String {
        String::new()
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        assert_eq!((case.workers, case.frame_bytes), (1, SMALLEST));
        thread::sleep(trial);
        Ok(Sample {
            frames_per_second: self.0.remove(0),
            changes_per_second: 0.0,
            counted: Counting::default(),
        })
    }
}

fn measured(frames: &[f64]) -> Option<Beside> {
    let cores = host::cores::allowed_cores().unwrap();
    let cores: Vec<CoreId> = cores.into_iter().take(2).collect();
    let caches = Caches {
        last: 1 << 20,
        second: 1 << 20,
    };
    let site = Site {
        cores: &cores,
        caches,
        probe: &Probe::new(caches),
        table: 1 << 20,
    };
    let pace = Pace {
        rounds: 3,
        more: Duration::from_millis(50),
    };
    let mut device = Listed(frames.to_vec());
    Beside::measure(&mut device, Kind::Kernel, &site, pace, 1).unwrap()
}

/// In each round a short trial beside readers, a long one, and one alone.
#[test]
fn a_frame_takes_longer_beside_readers_by_what_they_add() {
    if !needs::two_cores() {
        return;
    }
    let _alone = needs::cores();
    let found = measured(&[7.0, 80.0, 100.0, 7.0, 50.0, 100.0, 7.0, 40.0, 50.0]);
    // On a machine too busy for the readers nothing is said.
    let Some(found) = found else { return };
    assert_eq!(found.rounds, 3);
    assert!((found.slowed.value - 1.25).abs() < 1e-9, "{found:?}");
    assert!((found.slowed.interval.high - 2.0).abs() < 1e-9, "{found:?}");
    assert!(found.reader.value > 0.0, "{found:?}");
}

#[test]
fn without_frames_there_is_nothing_to_compare() {
    if !needs::two_cores() {
        return;
    }
    let _alone = needs::cores();
    assert_eq!(measured(&[0.0; 9]), None);
}

#[test]
fn rounds_come_first_and_length_after() {
    let overhead = Duration::from_millis(30);
    let short = Pace::within(Duration::from_millis(100), overhead);
    assert_eq!((short.rounds, short.more), (3, MORE[0]));
    let long = Pace::within(Duration::from_secs(2), overhead);
    assert_eq!(long.rounds, 9);
    let each = 3 * (overhead + SHORT) + 3 * long.more;
    assert!(each * 9 <= Duration::from_secs(2), "{long:?}");
    let longest = Pace::within(Duration::from_secs(100), overhead);
    assert_eq!(longest.more, MORE[1]);
}
