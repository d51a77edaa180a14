//! Stacks of time on cores and off them, as flame graphs and the Firefox Profiler want them: what was
//! put in comes out, and all of a thread's time is there.

use serde_json::Value;
use tracer::Trace;
use tracer::analyse::Analysis;
use tracer::event::{Event, Kind};
use tracer::export::{collapsed, firefox};
use tracer::trace::{AddressName, NameSource};

use crate::synthetic::{LOCK, MAIN, Workload};

/// Two threads at one lock, with a place for each wait, and a sample at each end of one.
fn recorded() -> (Trace, Analysis) {
    let (mut trace, _) = Workload {
        threads: 2,
        hold: 30_000,
        think: 20_000,
        until: 20_000_000,
        spread: 0.5,
    }
    .run();
    let place = |frames: [&str; 2]| frames.map(str::to_owned).to_vec();
    trace.trailer.stacks = vec![place(["lock", "put; all"]), place(["hash", "main"])];
    let with_place = |event: Event| {
        let kind = match event.kind {
            Kind::FutexEnter(call) if call.operation.waits() => Some(Kind::Stack(0)),
            Kind::FutexExit(0) => Some(Kind::Sample(1)),
            _ => None,
        };
        [Some(event), kind.map(|kind| Event { kind, ..event })]
    };
    trace.events = trace
        .events
        .into_iter()
        .flat_map(with_place)
        .flatten()
        .collect();
    trace.trailer.names.push(AddressName {
        process: MAIN,
        address: LOCK,
        length: 4,
        name: "TABLE".to_owned(),
        source: NameSource::Symbol,
        until: None,
    });
    let analysis = Analysis::new(&trace);
    (trace, analysis)
}

/// The time of all threads in the window, ns.
fn whole(analysis: &Analysis) -> u64 {
    let lives = analysis.timeline.targets();
    let segments = lives.flat_map(|life| &life.segments);
    segments.map(|segment| segment.end - segment.start).sum()
}

fn waited(analysis: &Analysis) -> u64 {
    let waits = analysis.timeline.waits();
    waits
        .map(|(_, segment, _)| segment.end - segment.start)
        .sum()
}

#[test]
fn collapsed_stacks_have_all_of_the_time_where_it_was_spent() {
    let (trace, analysis) = recorded();
    let mut bytes = Vec::new();
    collapsed::write(&trace, &analysis, &mut bytes).expect("a vector takes all");
    let text = String::from_utf8(bytes).expect("text");
    let lines = || {
        text.lines()
            .map(|line| line.rsplit_once(' ').expect("a number"))
    };
    let sum = |within: &str| -> u64 {
        let of = lines().filter(|(stack, _)| stack.contains(within));
        of.map(|(_, time)| time.parse::<u64>().expect("microseconds"))
            .sum()
    };
    // A line loses less than a microsecond.
    let near = |found: u64, ns: u64| {
        let least = (ns / 1000).saturating_sub(lines().count() as u64);
        assert!(
            (least..=ns / 1000).contains(&found),
            "{found} of {ns} ns:\n{text}"
        );
    };
    near(sum(""), whole(&analysis));
    near(
        sum("put: all;lock;[waited for mutex `TABLE`]"),
        waited(&analysis),
    );
    let first = lines().next().expect("a line").0;
    assert!(first.starts_with("program;"), "{first}");
    assert!(
        lines().any(|(stack, _)| stack.ends_with(";main;hash")),
        "{text}"
    );
}

/// The numbers of a column that has no holes.
fn column(table: &Value, name: &str) -> Vec<f64> {
    let column = table[name]
        .as_array()
        .unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(
        Some(column.len() as u64),
        table["length"].as_u64(),
        "{name}"
    );
    column
        .iter()
        .map(|value| value.as_f64().unwrap_or(f64::NAN))
        .collect()
}

#[test]
fn a_firefox_profile_is_whole_columns_whose_numbers_lead_to_names() {
    let (trace, analysis) = recorded();
    let mut bytes = Vec::new();
    firefox::write(&trace, &analysis, &mut bytes).expect("a vector takes all");
    let profile: Value = serde_json::from_slice(&bytes).expect("JSON");
    let threads = profile["threads"].as_array().expect("threads");
    assert_eq!(threads.len(), analysis.timeline.targets().count());
    let (mut all, mut at_the_lock) = (0.0, 0.0);
    for thread in threads {
        let names = thread["stringArray"].as_array().expect("names");
        let (frames, functions) = (&thread["frameTable"], &thread["funcTable"]);
        for (table, name) in [(frames, "func"), (functions, "name")] {
            let inside = |of: f64| of >= 0.0 && of < names.len() as f64;
            assert!(column(table, name).into_iter().all(inside), "{name}");
        }
        let stacks = &thread["stackTable"];
        let (frame, below) = (column(stacks, "frame"), column(stacks, "prefix"));
        let earlier = |(number, below): (usize, &f64)| below.is_nan() || *below < number as f64;
        assert!(below.iter().enumerate().all(earlier));
        let words = |stack: f64| {
            let mut words = Vec::new();
            let mut at = stack;
            while !at.is_nan() {
                words.push(names[frame[at as usize] as usize].as_str().expect("a name"));
                at = below[at as usize];
            }
            words
        };
        let samples = &thread["samples"];
        let times = column(samples, "time");
        assert!(times.is_sorted(), "{times:?}");
        let weights = column(samples, "weight");
        for (stack, weight) in column(samples, "stack").into_iter().zip(&weights) {
            all += weight;
            let words = words(stack);
            assert!(!words.is_empty());
            if words == ["[waited for mutex `TABLE`]", "lock", "put; all"] {
                at_the_lock += weight;
            }
        }
    }
    let is = |found: f64, ns: u64| assert!((found - ns as f64 / 1e6).abs() < 1e-3, "{found} {ns}");
    is(all, whole(&analysis));
    is(at_the_lock, waited(&analysis));
}
