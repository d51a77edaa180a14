//! From recorded runs to a judgement.

use figures::Random;
use scaling::harness::notes::Note;
use scaling::harness::plan::{Mode, Placement};
use scaling::harness::series::{Run, Series};
use scaling::laws::form::Form;
use scaling::laws::peak::Peak;
use scaling::laws::rates::Rates;
use scaling::laws::usl::Usl;
use scaling::result::judge::{above_linear, causes, control, law, points};
use scaling::result::sentence::sentence;

fn run(wall: f64, user: f64) -> Run {
    Run {
        rate: 1.0 / wall,
        wall,
        user,
        system: 0.0,
        steal: 0.0,
        involuntary_switches: 0,
        disturbed: false,
    }
}

/// Two cores: half of the lost time is idling, half dearer work.
fn series() -> Series {
    let mut random = Random::new(3);
    let rounds = (0..9)
        .map(|_| {
            let slow = 1.0 + random.unit() / 10.0;
            vec![run(10.0 * slow, 10.0 * slow), run(7.2 * slow, 12.0 * slow)]
        })
        .collect();
    Series {
        placement: Placement::Pinned,
        counts: vec![1, 2],
        rounds,
    }
}

#[test]
fn slow_rounds_cancel_and_the_parts_add_up() {
    let points = points(&[series()], Mode::Threads, 1);
    assert!((points[1].speedup - 10.0 / 7.2).abs() < 1e-9);
    assert!(points[1].high - points[1].low < 1e-9);
    let causes = causes(&series(), 1);
    let sum: f64 = causes.iter().map(|c| c.share).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    let factors: f64 = causes.iter().map(|c| c.factor).product();
    assert!((factors - points[1].efficiency).abs() < 1e-9);
    assert!(causes[0].name == "idle cores" && (causes[0].factor - 12.0 / 14.4).abs() < 1e-9);
    assert!(causes[2].name == "dearer user work" && (causes[2].factor - 10.0 / 12.0).abs() < 1e-9);
}

#[test]
fn the_answer_is_short_sentences() {
    let points = points(&[series()], Mode::Threads, 1);
    let law = law(&series().rates(), &[], 1);
    let text = sentence(Mode::Threads, &points, &causes(&series(), 1), None, &law);
    assert_eq!(
        text,
        "2 cores do it 1.39 [1.39, 1.39] times as fast as one. Of the 31 % lost, 50 % is dearer \
         user work and 50 % is idle cores. 2 cores cannot show where it ends: only e(2) = 0.440 \
         [0.440, 0.440] is known."
    );
    for part in text.split_inclusive(". ") {
        assert!(part.split_whitespace().count() <= 25, "{part}");
    }
}

#[test]
fn the_parts_explain_the_speedup_that_is_printed() {
    let mut random = Random::new(5);
    let mut noisy = |seconds: f64| seconds * (1.0 + random.unit() / 10.0);
    let mut rounds: Vec<Vec<Run>> = (0..8)
        .map(|_| vec![run(noisy(10.0), 10.0), run(noisy(7.2), noisy(12.0))])
        .collect();
    rounds[3][1] = run(40.0, 12.0); // one run was held up
    let series = Series { rounds, ..series() };
    let factors: f64 = causes(&series, 1).iter().map(|c| c.factor).product();
    let printed = points(&[series], Mode::Threads, 1)[1].efficiency;
    assert!(
        (factors - printed).abs() < 1e-9,
        "{factors} is not {printed}"
    );
}

#[test]
fn two_cores_are_told_what_they_cannot_show() {
    let law = law(&series().rates(), &[], 1);
    assert_eq!(law.peak, Peak::TooFewCores { tried: 2 });
    assert_eq!(law.coefficients, None);
    let (e, interval) = law.serial_fraction.unwrap();
    assert!((e - 0.44).abs() < 1e-9 && (interval.high - interval.low).abs() < 1e-9);
    assert_eq!(law.forecast.len(), 2, "to four cores, no further");
    assert!(law.forecast[1].speedup.low < law.forecast[1].speedup.high);
}

/// Eleven rounds of a law with coherency: a run scatters by 1 %, a whole round by a factor of 3.
fn rounds_of_many_speeds() -> Rates {
    let truth = Usl {
        gamma: 10.0,
        sigma: 0.02,
        kappa: 0.004,
    };
    let mut random = Random::new(7);
    let cores = vec![1, 2, 3, 4, 6, 8];
    let rates = (0..11)
        .map(|_| {
            let speed = 1.0 + 2.0 * random.unit();
            let mut rate =
                |&n: &u32| truth.rate(f64::from(n)) * speed * (1.0 + 0.02 * (random.unit() - 0.5));
            cores.iter().map(&mut rate).collect()
        })
        .collect();
    Rates { cores, rates }
}

#[test]
fn rounds_of_different_speed_do_not_hide_a_law() {
    let law = law(&rounds_of_many_speeds(), &[], 1);
    assert_eq!(law.choice.fit().unwrap().form, Form::Usl);
    let found = law.coefficients.unwrap();
    assert!(
        found.sigma.contains(0.02) && found.kappa.contains(0.004),
        "{found:?}"
    );
    assert!(found.kappa.high - found.kappa.low < 0.001, "{found:?}");
    let sixteen = law.forecast.last().unwrap();
    assert!(
        sixteen.speedup.contains(16.0 / (1.0 + 0.3 + 0.96)),
        "{sixteen:?}"
    );
}

#[test]
fn a_perfect_speedup_has_no_cause() {
    let rounds = vec![vec![run(2.0, 2.0), run(1.0, 2.0)]; 5];
    let series = Series {
        placement: Placement::Pinned,
        counts: vec![1, 2],
        rounds,
    };
    assert_eq!(causes(&series, 1), []);
}

#[test]
fn above_linear_is_a_gain_only_where_the_single_core_was_not_held_up() {
    let mut rounds = vec![vec![run(2.0, 2.0), run(0.8, 1.6)]; 5];
    let note = |rounds: &Vec<Vec<Run>>| {
        let series = Series {
            placement: Placement::Pinned,
            counts: vec![1, 2],
            rounds: rounds.clone(),
        };
        above_linear(&points(&[series], Mode::Threads, 1))
    };
    assert_eq!(note(&rounds), Some(Note::Superlinear));
    for round in &mut rounds {
        round[0].user = 1.0; // half of its time the one core had other things to do
    }
    assert_eq!(
        note(&rounds),
        Some(Note::HeldUp {
            one: 0.5,
            each: 1.0
        })
    );
    rounds = vec![vec![run(2.0, 2.0), run(1.0, 2.0)]; 5];
    assert_eq!(note(&rounds), None);
}

#[test]
fn a_control_that_misses_one_is_noted() {
    assert!(control(&[1.01, 0.99, 1.0, 1.02, 0.98], 1).1.is_none());
    assert!(matches!(
        control(&[1.05, 1.06, 1.05, 1.07, 1.04], 1).1,
        Some(Note::ControlMissed { .. })
    ));
}
