//! Of `dut/src/stand/counters.rs`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::*;

fn counters(text: &str) -> Vec<(String, u64)> {
    read(text)
}

#[test]
fn lines_of_names_and_numbers_are_counters_and_so_is_prometheus_text() {
    let text = "rx_drops 5\n     tx_drops: 7\n# HELP lost_total what was lost\nlost_total{why=\"no \
                route\"} 12 1700000000\nlost_total{why=\"ttl\"} 1.5e3\nnothing\nrate x\nbelow -1\n";
    let found = counters(text);
    let names: Vec<(&str, u64)> = found
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    assert_eq!(
        names,
        [
            ("rx_drops", 5),
            ("tx_drops", 7),
            ("lost_total{why=\"no route\"}", 12),
            ("lost_total{why=\"ttl\"}", 1500),
        ]
    );
}

#[test]
fn a_command_that_fails_is_named_with_a_remedy() {
    for (command, why, remedy) in [
        ("exit 3", "exit status: 3", "run it by itself"),
        ("true", "printed no counter", "name value"),
        ("echo 5", "printed no counter", "name value"),
    ] {
        let error = ask(command, LONGEST).unwrap_err();
        assert!(error.contains(command) && error.contains(why), "{error}");
        assert!(error.contains(remedy), "{error}");
    }
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_what_it_started() {
    let begun = Instant::now();
    // The second sleep holds the output open.
    let error = ask("sleep 60 & sleep 60", Duration::from_millis(50)).unwrap_err();
    assert!(error.contains("took longer than 0.05 s"), "{error}");
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "it was waited for"
    );
}

#[test]
fn a_complaint_is_made_once_and_ends_nothing() {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let told = told("exit 3".to_owned(), |_| {
        MADE.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!((told(), told()), (None, None));
    assert_eq!(MADE.load(Ordering::Relaxed), 1);
}
