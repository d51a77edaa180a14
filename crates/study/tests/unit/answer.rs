//! Of `study/src/answer.rs`.

use figures::Weak;

use super::*;
use crate::speed_up::SpeedUp;
use crate::testing::study;

#[test]
fn the_answer_is_a_sentence_a_table_and_what_to_try_next() {
    let mut study = study();
    let key = study
        .smallest("kernel", Table::Kernel, 2)
        .unwrap()
        .key
        .clone();
    study.speed_ups.push(SpeedUp {
        key,
        rounds: 11,
        times: 1.75,
        low: 1.70,
        high: 1.80,
        weak: None,
    });
    study.left_out.push("No packet sockets.".to_owned());
    let text = report::terminal::render(&answer(&study));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "The Linux kernel forwards 1.40 M frames/s of 64 bytes on both cores: 1.75× what one core \
         does."
    );
    assert_eq!(
        lines[1],
        "With the table behind one lock, both cores do 0.40× what one core does."
    );
    let row = |name: &str| {
        let row = lines.iter().find(|line| line.starts_with(name)).unwrap();
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let bar = "█".repeat(24);
    let kernel = format!("The Linux kernel 800 k 1.40 M 1.75 1.70 to 1.80 {bar}");
    assert_eq!(row("The Linux kernel  "), kernel);
    assert_eq!(
        row("its workers"),
        "its workers alone, without a network 30.0 M 59.4 M 1.98 –"
    );
    assert!(text.contains("Not measured: one thing; --full says why."));
    assert!(text.contains("Next: `corelane run --port A --port B`"));
    assert!(lines.len() <= 25, "{text}");
    let says_why = |study: &Study| {
        let text = report::terminal::render(&answer(study));
        text.contains("Above 2×: a core alone may find less of its table")
    };
    assert!(!says_why(&study));
    study.speed_ups[0].low = 1.99;
    study.speed_ups[0].high = 2.3;
    assert!(!says_why(&study), "it may be two");
    study.speed_ups[0].low = 2.01;
    assert!(says_why(&study));
}

#[test]
fn one_core_has_nothing_to_compare() {
    let mut study = study();
    study.cores = 1;
    study.forwarding.retain(|row| row.key.workers == 1);
    let text = report::terminal::render(&answer(&study));
    assert!(
        text.starts_with("The Linux kernel forwards 800 k frames/s of 64 bytes on one core.\n"),
        "{text}"
    );
    assert!(!text.contains('×'), "{text}");
}

#[test]
fn several_ports_forward_and_one_kernel_forwards() {
    let mut study = study();
    study.forwarding.retain(|row| row.key.engine == "memory");
    let text = report::terminal::render(&answer(&study));
    assert!(text.starts_with("Memory ports forward "), "{text}");
}

#[test]
fn the_answer_is_of_the_fastest_or_of_none() {
    let starts = |times: f64, weak: Option<Weak>| {
        let mut study = study();
        let kernel = study.forwarding.iter();
        let kernel = kernel.filter(|row| row.key.engine == "kernel").cloned();
        let faster: Vec<Row> = kernel
            .map(|mut row| {
                row.key.engine = "xdp".to_owned();
                row.frames_per_second.0 *= times;
                row.weak = weak;
                row
            })
            .collect();
        study.forwarding.extend(faster);
        report::terminal::render(&answer(&study))
    };
    assert!(starts(3.0, None).starts_with("XDP with our table forwards "));
    assert!(starts(1.05, Some(Weak::Disturbed)).starts_with("The Linux kernel forwards "));
    for weak in [Weak::Disturbed, Weak::Scattered] {
        let text = starts(3.0, Some(weak));
        assert!(
            text.starts_with("What each core forwards cannot be told"),
            "{text}"
        );
    }
}
