use figures::Random;

use super::*;

/// What two that use memory at once do to each other.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// Nothing.
    Nothing,
    /// A reader at full pace makes a load so many times longer, less one.
    Waiting(f64),
    /// Nothing, until so many readers use it.
    Full(f64),
}

/// A machine of which everything is known.
#[derive(Clone, Copy, Debug)]
struct Truth {
    cores: usize,
    law: Law,
    /// A core computes so many times longer when all do.
    computing: f64,
    /// A forwarding core's traffic in a reader's.
    traffic: f64,
    /// Share of a frame's time that waits for memory.
    share: f64,
}

impl Truth {
    /// The paces of so many forwarding cores and readers at once, against one alone.
    fn paces(self, forwarding: usize, readers: usize) -> (f64, f64) {
        let (forwarding, readers) = (forwarding as f64, readers as f64);
        let demand = forwarding * self.traffic + readers;
        let a = match self.law {
            Law::Nothing => return (1.0, 1.0),
            Law::Full(most) => return [(most / demand).min(1.0); 2].into(),
            Law::Waiting(a) => a,
        };
        let (mut frames, mut reads) = (1.0, 1.0);
        for _ in 0..1000 {
            let all = forwarding * self.traffic * frames + readers * reads;
            let next = 1.0 / (1.0 + self.share * a * (all - self.traffic * frames).max(0.0));
            let next_reads = 1.0 / (1.0 + a * (all - reads).max(0.0));
            frames = f64::midpoint(frames, next);
            reads = f64::midpoint(reads, next_reads);
        }
        (frames, reads)
    }

    /// Times one core's frames on `n` cores, all busy.
    fn speed_up(self, n: usize) -> f64 {
        n as f64 * self.paces(n, 0).0 / self.computing
    }

    /// What would be measured, each round off by up to `scatter`.
    fn inputs(self, scatter: f64, seed: u64) -> Inputs {
        let mut random = Random::new(seed);
        let mut seen = |truth: f64| {
            let rounds: Vec<f64> = (0..9)
                .map(|_| truth * (1.0 + scatter * (2.0 * random.unit() - 1.0)))
                .collect();
            Estimate::of(&rounds, seed)
        };
        let others = self.cores - 1;
        let (beside_readers, reader_beside) = self.paces(1, others);
        let among_others = self.paces(0, others).1;
        Inputs {
            cores: self.cores,
            computing: seen(self.computing),
            slowed: seen(self.computing / beside_readers),
            reader: seen(self.paces(0, self.cores).1 / among_others),
            beside: seen(reader_beside / among_others),
            crowded: among_others,
        }
    }
}

const FREE: Truth = Truth {
    cores: 2,
    law: Law::Nothing,
    computing: 1.0,
    traffic: 0.5,
    share: 0.3,
};

fn near(value: f64, truth: f64, share: f64) -> bool {
    (value / truth - 1.0).abs() <= share
}

#[test]
fn cores_that_share_nothing_scale_linearly() {
    for cores in [2, 8] {
        let truth = Truth { cores, ..FREE };
        let inputs = truth.inputs(0.005, 1);
        let found = inputs.speed_up().unwrap();
        assert!(near(found.value, cores as f64, 0.01), "{found:?}");
        assert!(found.interval.contains(cores as f64), "{found:?}");
        for band in inputs.bands() {
            assert!(near(band.grown, band.cores as f64, 0.02), "{band:?}");
            assert_eq!(band.shared, None, "no limit was seen, so none is named");
        }
        assert_eq!(inputs.traffic(), None);
    }
}

#[test]
fn a_clock_that_falls_slows_all_cores_alike() {
    let truth = Truth {
        computing: 1.1,
        ..FREE
    };
    let found = truth.inputs(0.005, 1).speed_up().unwrap();
    assert!(found.interval.contains(2.0 / 1.1), "{found:?}");
    assert!(near(found.value, 2.0 / 1.1, 0.02), "{found:?}");
}

/// Four cores whose memory is full when three read; a forwarding core takes as much as a reader.
#[test]
fn forwarding_ends_where_memory_is_full() {
    let truth = Truth {
        cores: 4,
        law: Law::Full(3.0),
        traffic: 1.0,
        ..FREE
    };
    let inputs = truth.inputs(0.002, 1);
    let found = inputs.speed_up().unwrap();
    assert!(found.interval.contains(3.0), "{found:?}");
    let bands = inputs.bands();
    let counts: Vec<usize> = bands.iter().map(|band| band.cores).collect();
    assert_eq!(counts, [8, 16, 32, 64]);
    for band in bands {
        let shared = band.shared.unwrap();
        assert!(near(shared, 3.0, 0.02), "{band:?}");
        assert!(band.grown >= 3.0 * band.cores as f64 / 4.0, "{band:?}");
    }
}

/// A reader doubles the time of a load; 0.3 of a frame's time is loads, half a reader's traffic.
#[test]
fn doubled_waiting_slows_by_the_part_that_waits() {
    let truth = Truth {
        law: Law::Waiting(1.0),
        ..FREE
    };
    // x = 1 / (1 + 0.3 · 0.5 x) for each of two.
    let pace = ((1.0_f64 + 4.0 * 0.15).sqrt() - 1.0) / (2.0 * 0.15);
    assert!(near(truth.speed_up(2), 2.0 * pace, 1e-9));
    let exact = truth.inputs(0.0, 1);
    let slow = exact.middle().waiting(2.0, exact.traffic().unwrap().value);
    assert!(near(slow, 1.0 / pace, 1e-6), "{slow} {pace}");
    let traffic = exact.traffic().unwrap().value;
    assert!(near(traffic, 0.5, 1e-6), "{traffic}");
    let noisy = truth.inputs(0.01, 1).speed_up().unwrap();
    assert!(noisy.interval.contains(2.0 * pace), "{noisy:?} {pace}");
}

/// Machines of both laws, of two and four cores, little traffic and much.
fn machines() -> Vec<Truth> {
    let mut machines = Vec::new();
    for cores in [2, 4] {
        let laws = [0.1, 0.3, 1.0].map(Law::Waiting);
        let full = [0.6, 0.9, 1.5].map(|part| Law::Full(part * cores as f64));
        for law in laws.into_iter().chain(full) {
            for (traffic, share) in [(0.1, 0.05), (0.3, 0.2), (0.8, 0.3), (0.5, 0.9)] {
                for computing in [1.0, 1.05] {
                    machines.push(Truth {
                        cores,
                        law,
                        computing,
                        traffic,
                        share,
                    });
                }
            }
        }
    }
    machines
}

#[test]
fn the_interval_holds_the_truth_as_often_as_it_says() {
    let (mut held, mut said, mut all) = (0, 0, 0);
    for truth in machines() {
        for seed in 0..10 {
            all += 1;
            if let Some(found) = truth.inputs(0.01, seed).speed_up() {
                said += 1;
                held += usize::from(found.interval.contains(truth.speed_up(truth.cores)));
            }
        }
    }
    assert!(said * 2 > all, "{said} of {all} are predicted at all");
    assert!(held * 100 >= said * 95, "{held} of {said}");
}

/// Two cores that lose at most a tenth to each other.
#[test]
fn two_cores_are_predicted_within_three_percent_where_little_is_shared() {
    for traffic in [0.1, 0.3, 0.5] {
        let truth = Truth {
            law: Law::Waiting(0.3),
            traffic,
            ..FREE
        };
        let found = truth.inputs(0.01, 3).speed_up().unwrap();
        let right = truth.speed_up(2);
        assert!(near(found.value, right, 0.03), "{found:?} {right}");
    }
}

#[test]
fn rounds_that_differ_too_much_predict_nothing() {
    let inputs = FREE.inputs(0.5, 1);
    assert_eq!(inputs.speed_up(), None);
    assert_eq!(inputs.bands(), []);
}

#[test]
fn a_band_has_its_ends_in_order() {
    for truth in machines() {
        for band in truth.inputs(0.01, 1).bands() {
            assert!(band.grown.is_finite(), "{truth:?} {band:?}");
            if let Some(shared) = band.shared {
                assert!(shared > 0.0 && shared <= band.grown, "{truth:?} {band:?}");
            }
        }
    }
}
