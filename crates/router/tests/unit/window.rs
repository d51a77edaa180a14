//! Of `router/src/samples/window.rs`.

use figures::Random;

use super::*;

fn one(at: Instant, last: u8, frames: f64) -> One {
    let flow = Flow {
        from: [192, 0, 2, last].into(),
        to: [203, 0, 113, 9].into(),
        protocol: 17,
        ports: Some((1000, 53)),
        tag: None,
    };
    One {
        at,
        flow,
        prefix: Some("203.0.113.0/24".into()),
        frames,
        length: 100,
    }
}

/// A source of 4000 frames in two seconds, drawn one in 50 by dice, a thousand times: the interval
/// holds the truth at least as often as it says.
#[test]
fn the_interval_holds_the_truth_as_often_as_it_says() {
    let begin = Instant::now();
    let mut random = Random::new(7);
    for (truth, every) in [(4000_u32, 50.0), (400, 50.0), (4000, 2.0)] {
        let (mut held, mut told) = (0, 0);
        for _ in 0..1000 {
            let mut window = Window::new(begin);
            for _ in 0..truth {
                if random.unit() < 1.0 / every {
                    window.add(one(begin + Duration::from_secs(1), 1, every));
                }
            }
            let hitters = window.hitters(begin + Duration::from_secs(2), every as u32);
            let Some(source) = hitters.sources.first() else {
                continue;
            };
            told += 1;
            let rate = f64::from(truth) / 2.0;
            held += u32::from(source.low <= rate && rate <= source.high);
            assert!((source.bits_per_second - source.frames_per_second * 800.0).abs() < 1e-6);
        }
        let share = f64::from(held) / f64::from(told);
        assert!((0.93..1.0).contains(&share), "{truth} by {every}: {share}");
    }
}

#[test]
fn what_is_not_left_to_chance_is_exact() {
    let begin = Instant::now();
    let mut window = Window::new(begin);
    for _ in 0..10 {
        window.add(one(begin, 1, 1.0));
    }
    let hitters = window.hitters(begin + Duration::from_secs(5), 1);
    let source = &hitters.sources[0];
    assert_eq!(
        (source.low, source.frames_per_second, source.high),
        (2.0, 2.0, 2.0)
    );
    assert_eq!(hitters.flows[0].what, "192.0.2.1:1000 > 203.0.113.9:53 udp");
    assert_eq!(hitters.prefixes[0].what, "203.0.113.0/24");
}

#[test]
fn the_most_come_first_and_memory_is_bounded() {
    let begin = Instant::now();
    let mut window = Window::new(begin);
    for number in 0..2 * MOST {
        let at = begin + Duration::from_micros(number as u64);
        // Source 7 has half of them.
        let last = if number % 2 == 0 {
            7
        } else {
            100 + (number % 90) as u8
        };
        window.add(one(at, last, 10.0));
    }
    assert_eq!(window.kept.len(), MOST);
    let now = begin + Duration::from_micros(2 * MOST as u64);
    let hitters = window.hitters(now, 10);
    assert_eq!(
        (hitters.sources.len(), hitters.samples),
        (TOLD, MOST as u64)
    );
    assert_eq!(hitters.sources[0].what, "192.0.2.7");
    // The rate is of the time of which samples are still there: a million frames a second by ten.
    let rate = hitters.frames_per_second / 1e7;
    assert!((0.99..1.01).contains(&rate), "{rate}");
    window.age(now + SPAN + Duration::from_secs(1));
    let hitters = window.hitters(now + SPAN + Duration::from_secs(1), 10);
    assert_eq!((hitters.samples, hitters.seconds), (0, SPAN.as_secs_f64()));
}
