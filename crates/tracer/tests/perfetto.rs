//! The export in Perfetto's own trace processor. `scripts/perfetto-engine` fetches it into
//! `target/`; without it, without Node or without a network the test says that it is skipped.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tracer::Trace;
use tracer::analyse::Analysis;
use tracer::export::perfetto;
use tracer::trace::{AddressName, NameSource};

use crate::synthetic::{LOCK, Workload};

/// Rows of every statement, or `None` when the engine is not to be had.
fn ask(trace: &Trace, analysis: &Analysis, statements: &[&str]) -> Option<Vec<Vec<Value>>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let engine = Command::new(root.join("scripts/perfetto-engine")).output();
    let engine = match engine {
        Ok(found) if found.status.success() => {
            String::from_utf8_lossy(&found.stdout).trim().to_owned()
        }
        Ok(refused) => {
            needs::skipped!("{}", String::from_utf8_lossy(&refused.stderr).trim());
            return None;
        }
        Err(error) => {
            needs::skipped!("scripts/perfetto-engine: {error}");
            return None;
        }
    };
    let file = std::env::temp_dir().join(format!("corelane-{}.pftrace", std::process::id()));
    let mut bytes = Vec::new();
    perfetto::write(trace, analysis, &mut bytes).expect("a vector takes all");
    std::fs::write(&file, bytes).expect("a temporary file");
    let output = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto/query.js"))
        .args([engine.as_ref(), file.as_os_str()])
        .args(statements)
        .output();
    // The temporary directory is cleaned by the system if this fails.
    let _ = std::fs::remove_file(&file);
    let output = output.expect("the script above has found Node");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let rows: Vec<Vec<Value>> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    assert_eq!(rows.len(), statements.len());
    Some(rows)
}

#[test]
fn the_trace_processor_finds_what_we_found() {
    let (mut trace, _) = Workload {
        threads: 4,
        hold: 3_000,
        think: 9_000,
        until: 20_000_000,
        spread: 0.9,
    }
    .run();
    trace.header.boot_offset = 1_000_000_000;
    trace.trailer.names.push(AddressName {
        process: crate::synthetic::MAIN,
        address: LOCK,
        length: 8,
        name: "table".into(),
        source: NameSource::Symbol,
        until: None,
    });
    let analysis = Analysis::new(&trace);
    let Some(rows) = ask(
        &trace,
        &analysis,
        &[
            "select name, value from stats where severity in ('error', 'data_loss') and value != 0",
            "select count(*) from sched",
            "select sum(dur) from sched join thread using (utid) where thread.name = 'worker-1' \
             and dur > 0",
            "select count(*) from thread where name glob 'worker-*'",
            "select count(*) from slice where name = 'mutex `table`' and dur > 0",
            "select count(*) from flow",
            "select count(*) from flow f join slice a on a.id = f.slice_out join slice b on b.id \
             = f.slice_in where a.name = 'gives mutex `table`' and b.name = 'goes on with mutex \
             `table`'",
            "select count(*) from thread_state where waker_utid is not null",
        ],
    ) else {
        return;
    };
    let one = |index: usize| {
        rows[index][0][0]
            .as_u64()
            .unwrap_or_else(|| panic!("{:?}", rows[index]))
    };
    assert_eq!(rows[0], Vec::<Value>::new(), "Perfetto complains");
    assert_eq!(one(1), analysis.timeline.switches);
    let ran: u64 = analysis
        .timeline
        .lives
        .iter()
        .filter(|life| analysis.timeline.threads.name(life.tid) == "worker-1")
        .flat_map(|life| &life.segments)
        .filter(|segment| matches!(segment.doing, tracer::timeline::Doing::Running(_)))
        .map(|segment| segment.end - segment.start)
        .sum();
    let share = one(2) as f64 / ran as f64;
    // The last slice of each core has no end there.
    assert!((0.95..=1.001).contains(&share), "{share}");
    assert_eq!(rows[3], [json!([4])]);
    let waits = analysis.locks[0].waited.waits.count;
    assert!(one(4).abs_diff(waits) <= 4, "{} of {waits} waits", one(4));
    assert!(
        one(5) > waits / 2 && one(5) == one(6),
        "{} flows, {} as meant",
        one(5),
        one(6)
    );
    assert!(one(7) > 0);
}
