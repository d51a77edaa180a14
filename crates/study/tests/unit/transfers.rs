//! Rows, tables and sentences of transfers, from plain values.

use std::time::Duration;

use transfer::Carried;

use super::plan::{Extent, Ground, Pace, cases};
use super::*;
use crate::tables::NOTHING;

const TCP: Case = Case {
    load: Load::Tcp,
    flows: 1,
    ground: Ground {
        offloads: true,
        mtu: 1500,
    },
};

fn sample(bits_per_second: f64) -> Sample {
    Sample {
        carried: Carried {
            payload_bits_per_second: bits_per_second,
            layer_2_bits_per_second: None,
            cpu_seconds_per_gigabit: Some(2e9 / bits_per_second),
            steal: 0.0,
            repeated_segments: 7,
            lost: 0.0,
            silent_flows: usize::from(bits_per_second < 2e9),
        },
        by_engine: None,
    }
}

/// Linux alone and `xdp`, by round.
fn transfers(rates: &[[Option<Sample>; 2]]) -> Transfers {
    let mut rounds = Rounds::new(2, 1);
    for rates in rates {
        let measured: Result<(), ()> = rounds.round_in([0, 1], |device| Ok(rates[device]));
        assert_eq!(measured, Ok(()));
    }
    Transfers {
        rounds: rates.len(),
        trial_milliseconds: 100.0,
        rows: rows(TCP, &[LINUX, "xdp"], &rounds, 1),
        left_out: Vec::new(),
    }
}

/// A machine that slows down from round to round slows both.
#[test]
fn a_device_is_compared_with_linux_within_the_rounds() {
    let rates = [[10e9, 2.4e9], [8e9, 2e9], [4e9, 1e9]];
    let transfers = transfers(&rates.map(|rates| rates.map(|rate| Some(sample(rate)))));
    let [linux, xdp] = &transfers.rows[..] else {
        panic!("a row for each device");
    };
    assert_eq!(linux.against_linux, None);
    let times = xdp.against_linux.unwrap();
    assert!((times.value - 0.25).abs() < 1e-12 && (times.interval.low - 0.24).abs() < 1e-12);
    assert!((xdp.cpu_seconds_per_gigabit.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!((xdp.silent_rounds, linux.silent_rounds), (1, 0));

    let text = report::terminal::render(&report::Document {
        blocks: vec![
            report::Block::Table(transfers.table()),
            report::Block::Table(transfers.details()),
        ],
        ..report::Document::new("")
    });
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    for part in [
        "TCP, 1 flow, offloads on, MTU 1500",
        "0.25×",
        "xdp is slower than Linux alone in 1 of 1",
        "A flow stood still through the second half of a transfer: xdp in 1 of 3.",
        "0.24 to 0.25",
    ] {
        assert!(text.contains(part), "{part} not in\n{text}");
    }
}

#[test]
fn a_transfer_that_failed_carried_nothing() {
    let transfers = transfers(&[[Some(sample(8e9)), None]; 3]);
    let xdp = &transfers.rows[1];
    assert!(xdp.against_linux.unwrap().interval.high <= 0.0);
    assert_eq!((xdp.payload_bits_per_second, xdp.high), (0.0, 0.0));
    assert_eq!(xdp.cpu_seconds_per_gigabit, None);
}

/// Two rounds, or rounds whose cores the hypervisor took and that differ, say nothing.
#[test]
fn rounds_that_are_no_evidence_give_no_ratio() {
    let calm = [Some(sample(8e9)), Some(sample(2e9))];
    assert_eq!(transfers(&[calm; 2]).rows[1].against_linux, None);
    let stolen = |rate| {
        let mut sample = sample(rate);
        sample.carried.steal = 0.1;
        Some(sample)
    };
    let rounds = [2e9, 5e9, 8e9].map(|rate| [Some(sample(8e9)), stolen(rate)]);
    let mut told = transfers(&rounds);
    assert_eq!(told.rows[1].against_linux, None);
    assert!(format!("{:?}", told.table()).contains(NOTHING));
    router::engine::EngineKind::default()
        .name()
        .clone_into(&mut told.rows[1].engine);
    assert_eq!(told.verdict(), None);
}

#[test]
fn the_verdict_is_of_the_engine_that_nobody_has_to_choose() {
    let mut transfers = transfers(&[[8e9, 2e9].map(|rate| Some(sample(rate))); 3]);
    let name = router::engine::EngineKind::default().name();
    name.clone_into(&mut transfers.rows[1].engine);
    let verdict = transfers.verdict().unwrap();
    assert!(verdict.contains(name) && verdict.contains("0.25× (0.25 to 0.25) by one flow"));
    transfers.rows[1].key.ground.offloads = false;
    assert_eq!(transfers.verdict(), None);
}

#[test]
fn tcp_goes_on_every_ground_and_datagrams_on_ethernets() {
    let all = cases(Extent::All);
    let tcp = all.iter().filter(|case| case.load == Load::Tcp).count();
    assert_eq!((tcp, all.len()), (2 * 2 * 2, 12));
    let some = cases(Extent::Some);
    assert!(some.len() == 5 && some.iter().all(|case| all.contains(case)));
    let ordinary = cases(Extent::Ordinary);
    assert!(ordinary.len() == 2 && ordinary.iter().all(|case| some.contains(case)));
    let grounds = all.chunk_by(|one, other| one.ground == other.ground);
    assert_eq!(grounds.count(), 4);
}

#[test]
fn time_is_spent_on_rounds_first_and_then_on_their_length() {
    // Two of twelve are ordinary.
    let all = cases(Extent::All);
    let within = |seconds, rounds| Pace::within(Duration::from_secs(seconds), rounds, &all, 10);
    let none = within(0, (9, 3));
    assert_eq!((none.rounds, none.ordinary), (1, 1));
    assert_eq!(none.trial, Duration::from_millis(60));
    let enough = within(72, (3, 3));
    assert_eq!((enough.rounds, enough.ordinary), (3, 3));
    assert_eq!(enough.trial, Duration::from_millis(130));
    // 480 transfers of 130 ms, of which 300 are of others.
    let some = within(62, (11, 3));
    assert_eq!((some.rounds, some.ordinary), (3, 8));
    let answer = within(96, (9, 3));
    assert_eq!((answer.rounds, answer.ordinary), (3, 9));
    assert_eq!(answer.trial, Duration::from_millis(130));
    let [ordinary, other] = [1500, 9000].map(|mtu| {
        let ground = Ground { mtu, ..TCP.ground };
        answer.rounds_of(Case { ground, ..TCP })
    });
    assert_eq!((ordinary, other), (9, 3));
    let long = within(600, (3, 3));
    assert_eq!((long.rounds, long.trial), (3, Duration::from_millis(400)));
}
