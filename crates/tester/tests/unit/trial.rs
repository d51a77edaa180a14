//! Of `tester/src/trial`.

use super::*;

fn counts() -> Counts {
    Counts {
        intended: 1000,
        sent: 1000,
        received: 990,
        lost: 10,
        arrivals: 990,
        ..Counts::default()
    }
}

#[test]
fn sums_close_or_the_trial_is_invalid() {
    assert!(counts().closes());
    let changes: [fn(&mut Counts); 3] = [
        |counts| counts.lost = 9,
        |counts| counts.arrivals = 991,
        |counts| counts.unsent = 1,
    ];
    for change in changes {
        let mut broken = counts();
        change(&mut broken);
        assert!(!broken.closes());
        assert!(!judge(&broken, None, &Disturbance::default()).counts());
    }
}

#[test]
fn an_undersent_trial_is_no_result() {
    let short = Counts {
        sent: 998,
        unsent: 2,
        received: 998,
        lost: 0,
        arrivals: 998,
        ..counts()
    };
    let dropped = Counts {
        tester_dropped: 1,
        ..counts()
    };
    for (counts, error, steal, expected) in [
        (short, Some(0.0), 0.0, "invalid"),
        (counts(), Some(-0.000_11), 0.0, "invalid"),
        (counts(), Some(0.000_09), 0.0, "valid"),
        (counts(), Some(0.0), 0.01, "noisy"),
        (dropped, None, 0.0, "invalid"),
    ] {
        let disturbance = Disturbance {
            steal,
            ..Disturbance::default()
        };
        let is = match judge(&counts, error, &disturbance) {
            Validity::Valid => "valid",
            Validity::Noisy(_) => "noisy",
            Validity::Invalid(_) => "invalid",
        };
        assert_eq!(is, expected, "{counts:?} {error:?} {steal}");
    }
}

#[test]
fn a_mesh_starts_at_the_successor_and_inputs_visit_outputs_in_the_same_order() {
    let cables = Direction::Mesh.over_cables();
    for (direction, ports, streams) in [
        (Direction::Mesh, 3, "01 02 12 10 20 21"),
        (Direction::OneWay, 2, "01"),
        (Direction::BothWays, 2, "01 10"),
        (Direction::OneWay, 4, "01 03 21 23"),
        (Direction::BothWays, 4, "01 03 10 12 21 23 30 32"),
        (cables, 4, "01 10 23 32"),
    ] {
        let found = direction.streams(ports).into_iter();
        let found: Vec<String> = found.map(|(from, to)| format!("{from}{to}")).collect();
        assert_eq!(found.join(" "), streams, "{direction:?}");
    }
}
