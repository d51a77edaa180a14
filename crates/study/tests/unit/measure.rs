//! Of `study/src/measure.rs`.

use dut::case::{FRAME_SIZES, Sample};
use dut::kind::{Kind, Table};
use dut::offer::Wanted;
use fib::TableOrganisation;
use tester::bench::{Subject, throughput};
use tester::result::Entry;
use tester::rig::{Event, Rig, RigError};
use tester::session::Session;
use tester::sizes::Family;
use tester::trial::{Counts, Direction, Order, Trial, Validity};
use tester::veth::lanes::LanesRig;

use super::*;
use host::counting::Counting;

/// What it passes for.
const DOUBLE: Kind = Kind::Memory(Some(TableOrganisation::PerCore));

/// Forwards a fixed rate per worker; makes half of the route changes; fails, or forwards
/// nothing of a size, when told to. Its second core forwards half as much again as the first.
/// Searched for, it holds nine tenths of that rate, but not the largest frames. With cold caches it
/// forwards half of what it should when the frame size has just changed.
#[derive(Default)]
struct Double {
    measured: usize,
    fail_at: usize,
    deaf_to: u32,
    searched: bool,
    has_cold_caches: bool,
    last_size: u32,
}

impl Device for Double {
    fn abilities(&self) -> Abilities {
        Abilities {
            kinds: vec![DOUBLE],
            sizes: &FRAME_SIZES,
            most_workers: 8,
            takes_changes: true,
            searched: self.searched,
            overhead: Duration::ZERO,
        }
    }

    fn method(&self) -> String {
        "It multiplies.".to_owned()
    }

    fn measure(&mut self, case: &Case, _: Duration) -> Result<Sample, Error> {
        self.measured += 1;
        if self.measured == self.fail_at {
            return Err("the interface has vanished".into());
        }
        let deaf = case.frame_bytes == self.deaf_to;
        let cold = self.has_cold_caches && case.frame_bytes != self.last_size;
        self.last_size = case.frame_bytes;
        let share = if cold { 0.5 } else { 1.0 };
        Ok(Sample {
            frames_per_second: if deaf { 0.0 } else { share * rate(case) },
            changes_per_second: case.changes as f64 / 2.0,
            counted: Counting::default(),
        })
    }

    fn search(&mut self, case: &Case, wanted: &Wanted) -> Result<Entry, Error> {
        if case.frame_bytes == 1518 {
            return Err("the queue is bewitched".into());
        }
        let mut rig = Scripted {
            holds: 0.9 * rate(case),
        };
        let order = LanesRig::order(case.frame_bytes, Family::Ipv4, Direction::OneWay)?;
        let mut silent = |_: &str| ();
        let session = Session::new(&mut rig, no_loss::PROFILE, order, &mut silent);
        assert!(wanted.ceiling > rate(case));
        Ok(throughput::run(session, &Subject::default(), &[]))
    }
}

/// Of the double, frames a second.
fn rate(case: &Case) -> f64 {
    case.cores().map(|core| 1e6 + 0.5e6 * core as f64).sum()
}

/// Carries so many frames a second and no more.
struct Scripted {
    holds: f64,
}

impl Rig for Scripted {
    fn run(
        &mut self,
        order: &Order,
        purpose: &str,
        _: Option<Event<'_>>,
    ) -> Result<Trial, RigError> {
        let segment = order.schedule.segments()[0];
        let seconds = segment.frames as f64 / segment.rate;
        let received = segment.frames.min((self.holds * seconds) as u64);
        let counts = Counts {
            intended: segment.frames,
            sent: segment.frames,
            received,
            lost: segment.frames - received,
            arrivals: received,
            ..Counts::default()
        };
        Ok(Trial {
            number: 1,
            purpose: purpose.to_owned(),
            frame_bytes: order.mean_size(),
            intended_rate: Some(segment.rate),
            offered_rate: segment.rate,
            senders: 1,
            intended_seconds: Some(seconds),
            seconds,
            counts,
            latency: None,
            response: None,
            worst_lateness_ns: 0,
            largest_burst: 1,
            batch: 1,
            last_lost_ns: None,
            lost_at: Vec::new(),
            arrivals_by_core: Vec::new(),
            lossy_stretches: None,
            lost_before_ns: None,
            drain_ns: None,
            filled: false,
            longest_silence_ns: None,
            steal: 0.0,
            away: 0.0,
            waited: 0.0,
            involuntary_switches: 0,
            repeated: false,
            validity: Validity::Valid,
        })
    }

    fn describe(&self) -> String {
        "scripted".to_owned()
    }

    fn ceiling(&self) -> f64 {
        2.0 * self.holds
    }
}

fn run_double(double: Double) -> Result<Study, Error> {
    run_for(double, Duration::from_secs(4))
}

fn run_for(double: Double, time: Duration) -> Result<Study, Error> {
    let routes = Routes {
        prefixes: fib::prefix_file::Prefixes::default(),
        destinations: vec![1, 2, 3],
        destinations_v6: Vec::new(),
        from: "nowhere".to_owned(),
    };
    let cores = [CoreId(0), CoreId(1)];
    let mut engines: Vec<Box<dyn Device>> = vec![Box::new(double)];
    let effort = Effort {
        time,
        full: 3,
        all: 5,
        ..Effort::THOROUGH
    };
    run(&mut engines, &cores, None, &routes, effort, 1)
}

#[test]
fn every_case_becomes_a_row() {
    // Its caches are warm before anything is counted.
    let cold = Double {
        has_cold_caches: true,
        ..Double::default()
    };
    let study = run_double(cold).unwrap();
    assert_eq!(study.forwarding.len(), 2 * 8 + 3);
    let row = study.smallest("memory", Table::PerCore, 2).unwrap();
    assert_eq!((row.frames_per_second.0, row.destinations), (2.5e6, 3));
    let one = study.smallest("memory", Table::PerCore, 1).unwrap();
    assert!(
        (one.frames_per_second.0 / 1.25e6 - 1.0).abs() < 1e-9,
        "the mean of the cores"
    );
    assert_eq!(study.route_changes.len(), 3);
    for changes in &study.route_changes {
        assert!((changes.kept - 1.0).abs() < 1e-12);
        assert!(
            changes.fell_behind(),
            "half the changes is too few to keep quiet about"
        );
    }
    assert!(study.left_out.is_empty() && study.searches.is_empty());
    assert_eq!(
        study.speed_ups.len(),
        8,
        "two workers against one, each size"
    );
    for up in &study.speed_ups {
        // On a machine with other work, disturbed rounds do not count.
        let most = if up.key.frame_bytes == 64 { 5 } else { 3 };
        assert!((1..=most).contains(&up.rounds), "{up:?}");
        assert!((up.times - 2.0).abs() < 1e-12 && (up.high - 2.0).abs() < 1e-12);
    }
    assert_eq!(study.methods[0].text, "It multiplies.");
}

#[test]
fn a_searched_row_has_its_rate_without_loss_and_one_without_says_why() {
    let double = Double {
        searched: true,
        ..Double::default()
    };
    let study = run_double(double).unwrap();
    for row in study
        .forwarding
        .iter()
        .filter(|row| row.route_changes_per_second == 0)
    {
        let search = study.search(row);
        let held = row.no_loss_frames_per_second;
        match (row.key.workers, row.key.frame_bytes) {
            (2, 64) => {
                let held = held.unwrap().0 / 2.25e6;
                assert!((0.98..=1.0).contains(&held), "{held}");
                assert_eq!(search.unwrap().because, "");
            }
            (2, 1518) => {
                assert_eq!(held, None);
                assert_eq!(search.unwrap().because, "the queue is bewitched");
            }
            _ => assert!(search.is_none() && held.is_none()),
        }
    }
    let json = serde_json::to_string(&study).unwrap();
    let again: Study = serde_json::from_str(&json).unwrap();
    assert_eq!(again.searches, study.searches);
}

#[test]
fn without_time_nothing_is_searched_and_every_case_says_so() {
    let double = Double {
        searched: true,
        ..Double::default()
    };
    let study = run_for(double, Duration::ZERO).unwrap();
    assert_eq!(
        study.searches.len(),
        2,
        "the smallest frames and the largest"
    );
    let said = |search: &no_loss::Search| search.because.contains("--seconds");
    assert!(study.searches.iter().all(said));
}

#[test]
fn a_failure_names_the_case() {
    let double = Double {
        fail_at: 7,
        ..Double::default()
    };
    let error = run_double(double).err().unwrap().to_string();
    assert!(
        error.contains("memory, per-core table") && error.contains("vanished"),
        "{error}"
    );
}

#[test]
fn a_case_without_a_frame_is_a_row_with_a_reason() {
    let double = Double {
        deaf_to: 512,
        ..Double::default()
    };
    let study = run_double(double).unwrap();
    let row = study.row("memory", Table::PerCore, 2, 512, 0).unwrap();
    assert!(row.frames_per_second.0.abs() < f64::EPSILON);
    assert_eq!(study.left_out.len(), 3, "each core alone and both");
    assert!(study.left_out[0].contains("1 worker, 512 bytes: in 3 rounds none"));
    // All that is shown can be made of it.
    report::html::render(&crate::page::page(&study));
    report::terminal::render(&crate::page::summary(&study));
}
