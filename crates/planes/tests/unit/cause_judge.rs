//! Of `planes/src/cause/judge.rs`.

use super::*;

fn probe(channel: &str, method: Method, values: [f64; 5]) -> Probe {
    Probe {
        channel: channel.to_owned(),
        method,
        counts: true,
        values: values.to_vec(),
    }
}

fn rounds() -> Observed {
    Observed {
        alone: vec![10.0, 11.0, 10.0, 9.0, 10.0],
        beside: vec![20.0, 21.0, 20.0, 19.0, 20.0],
        again: vec![20.5, 20.5, 20.0, 19.5, 20.0],
        registers: vec![11.0, 12.0, 11.0, 10.0, 11.0],
    }
}

#[test]
fn what_was_put_in_comes_out() {
    let probes = [
        probe("queue", Method::Removed, [14.0, 15.0, 14.0, 13.0, 14.0]),
        probe("cache", Method::Pressed, [13.0, 14.0, 13.0, 12.0, 13.0]),
        probe("nothing", Method::Removed, [20.0, 21.0, 20.0, 19.0, 20.0]),
        probe(
            "registers alone",
            Method::Pressed,
            [11.0, 12.0, 11.0, 10.0, 11.0],
        ),
    ];
    let judged = judge(&rounds(), &probes, 1).unwrap();
    assert_eq!((judged.alone, judged.beside), (10.0, 20.0));
    let shares: Vec<(f64, bool)> = judged
        .channels
        .iter()
        .map(|channel| (channel.share, channel.clear))
        .collect();
    assert_eq!(
        shares,
        [(0.6, true), (0.3, true), (0.0, false), (0.1, false)]
    );
    assert!(
        (judged.explained - 0.9).abs() < 1e-9,
        "{}",
        judged.explained
    );
}

#[test]
fn an_intervention_that_helps_in_some_rounds_only_is_not_clear() {
    let probes = [probe(
        "luck",
        Method::Removed,
        [10.0, 21.0, 10.0, 19.0, 10.0],
    )];
    let judged = judge(&rounds(), &probes, 1).unwrap();
    assert_eq!(
        (judged.channels[0].share, judged.channels[0].clear),
        (1.0, false)
    );
    assert!(judged.explained.abs() < 1e-9);
}

#[test]
fn a_plane_that_varies_by_itself_is_not_disturbed() {
    let noisy = Observed {
        again: vec![9.0, 33.0, 8.0, 35.0, 7.0],
        ..rounds()
    };
    assert_eq!(judge(&noisy, &[], 1), None);
    let calm = Observed {
        beside: rounds().alone,
        ..rounds()
    };
    assert_eq!(judge(&calm, &[], 1), None);
}
