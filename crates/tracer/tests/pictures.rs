//! The page in a real browser, and Perfetto's file in Perfetto's own importer: each test says aloud
//! when its tool is absent.

use std::process::Command;

use tracer::analyse::Analysis;
use tracer::export::{page, perfetto};

use crate::synthetic::Workload;

fn analysed(until: u64) -> (tracer::Trace, Analysis) {
    let (trace, _) = Workload {
        threads: 4,
        hold: 3_000,
        think: 9_000,
        until,
        spread: 0.9,
    }
    .run();
    let analysis = Analysis::new(&trace);
    (trace, analysis)
}

#[test]
fn a_browser_has_drawn_the_timeline_when_the_page_is_loaded() {
    let Some(browser) = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok())
    else {
        needs::skipped!("no Chromium");
        return;
    };
    let (trace, analysis) = analysed(20_000_000);
    let file =
        std::env::temp_dir().join(format!("corelane-trace-page-{}.html", std::process::id()));
    std::fs::write(
        &file,
        report::html::render(&page::document(&trace, &analysis)),
    )
    .expect("a temporary file");
    let output = Command::new("timeout")
        .args([
            "60",
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            // As the page is when it has just been loaded: what is not drawn by then would be
            // missing on paper.
            "--dump-dom",
        ])
        .arg(format!("file://{}", file.display()))
        .output();
    // The temporary directory is cleaned by the system if this fails.
    let _ = std::fs::remove_file(&file);
    let dom = String::from_utf8_lossy(&output.expect("the browser starts").stdout).into_owned();
    if dom.is_empty() {
        needs::skipped!("the browser printed nothing (no sandbox, no memory?)");
        return;
    }
    let segments: usize = analysis
        .timeline
        .lives
        .iter()
        .map(|life| life.segments.len())
        .sum();
    let slices: usize = dom
        .split("data-slices=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next()?.parse().ok())
        .unwrap_or_else(|| panic!("the timeline was not drawn"));
    assert!(
        slices > segments,
        "{slices} slices drawn, {segments} segments known"
    );
    assert!(dom.contains("data-ready"));
}

#[test]
fn the_page_loads_nothing_and_stays_small() {
    let (trace, analysis) = analysed(100_000_000);
    let html = report::html::render(&page::document(&trace, &analysis));
    assert!(!html.contains("src=\"http") && !html.contains("<link rel=\"stylesheet\""));
    let slices: usize = analysis
        .timeline
        .lives
        .iter()
        .map(|life| life.segments.len())
        .sum::<usize>()
        + analysis.timeline.runs.iter().map(Vec::len).sum::<usize>();
    let each = html.len() as f64 / slices as f64;
    assert!(each < 12.0, "{each} bytes a slice");
}

/// A message's fields: (number, varint or bytes).
fn fields(mut bytes: &[u8]) -> Vec<(u64, Result<u64, &[u8]>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for (shift, byte) in bytes.iter().enumerate() {
            value |= u64::from(byte & 127) << (7 * shift);
            if byte & 128 == 0 {
                *bytes = &bytes[shift + 1..];
                return value;
            }
        }
        panic!("a number breaks off");
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        match tag & 7 {
            0 => found.push((tag >> 3, Ok(varint(&mut bytes)))),
            2 => {
                let length = varint(&mut bytes) as usize;
                found.push((tag >> 3, Err(&bytes[..length])));
                bytes = &bytes[length..];
            }
            kind => panic!("wire type {kind}"),
        }
    }
    found
}

#[test]
fn perfettos_file_has_every_switch_once() {
    const FTRACE: u64 = 1;
    const EVENT: u64 = 2;
    const COMPACT: u64 = 4;
    const SWITCH_TIMES: u64 = 1;
    const SWITCH: u64 = 4;
    let (trace, analysis) = analysed(20_000_000);
    let mut file = Vec::new();
    perfetto::write(&trace, &analysis, &mut file).expect("a vector takes all");
    let mut switches = 0;
    for (_, packet) in fields(&file) {
        for (field, bundle) in fields(packet.expect_err("a packet is a message")) {
            let Err(bundle) = bundle else { continue };
            if field != FTRACE {
                continue;
            }
            for (field, part) in fields(bundle) {
                match (field, part) {
                    (EVENT, Err(event)) => {
                        switches += fields(event)
                            .iter()
                            .filter(|(field, _)| *field == SWITCH)
                            .count() as u64;
                    }
                    (COMPACT, Err(columns)) => {
                        for (field, column) in fields(columns) {
                            if let (SWITCH_TIMES, Err(column)) = (field, column) {
                                switches +=
                                    column.iter().filter(|byte| **byte < 128).count() as u64;
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    assert_eq!(switches, analysis.timeline.switches);
}
