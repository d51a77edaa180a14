//! `corelane study` as its users run it: results that agree with each other, errors that name the
//! remedy, nothing left behind.

mod ends;
mod refusals;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use clap::ValueEnum;
use host::temporary::Directory;
use router::engine::EngineKind;
use serde_json::Value;

use self::ends::namespaces_of;
use self::refusals::as_nobody;

use crate::schemas::assert_is;

/// A small table: a study with it is set up at once.
const ROUTES: &str =
    "1.0.0.0/8\n1.2.0.0/16\n2.0.0.0/9\n100.64.0.0/10\n203.0.113.0/24\n2001:db8::/32\n";

struct Place {
    directory: Directory,
}

impl Place {
    fn new() -> Self {
        let directory = Directory::new("study").unwrap();
        std::fs::write(directory.path().join("routes.txt"), ROUTES).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
        command
            .arg("study")
            .args(arguments)
            .current_dir(self.directory.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(
            !self.path("study.json").exists(),
            "an error writes no result"
        );
        String::from_utf8(output.stderr).unwrap()
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// What was measured with the shipped table, and is no weak evidence, stands in the tables.
fn shipped_rows_are_shown(rows: &[Value], text: &str) {
    for row in rows
        .iter()
        .filter(|row| row["table"] == "shipped" && row["route_changes_per_second"] == 0)
        .filter(|row| row["frames_per_second"].as_f64() > Some(0.0) && row["weak"].is_null())
    {
        let rate = report::units::engineering(row["frames_per_second"].as_f64().unwrap(), "");
        let (frame, rate) = (row["frame_bytes"].to_string(), rate.trim_end().to_owned());
        let shown = text
            .lines()
            .any(|line| line.contains("shipped") && line.contains(&frame) && line.contains(&rate));
        assert!(shown, "{frame} bytes, {rate} not in\n{text}");
    }
}

/// The study of a user who is nobody, of every engine that needs no root; as it is where there are
/// no user namespaces.
#[test]
fn a_small_study_prints_and_writes_the_same_figures() {
    let place = Place::new();
    let quick = "--quick --full --cores 1 --seconds 2 --rounds 2 --routes routes.txt --seed 7";
    let quick: Vec<&str> = quick.split(' ').collect();
    let alone = needs::cores();
    let nobody = as_nobody(&place, &quick);
    let without_root = nobody.is_some();
    let output =
        nobody.unwrap_or_else(|| place.run(&[&quick[..], &["--engine", "memory"]].concat()));
    drop(alone);
    let text = String::from_utf8(output.stdout).unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{messages}");
    assert!(
        !messages.contains('\x1b') && messages.lines().all(|line| line.starts_with("written: ")),
        "silent when piped: {messages}"
    );

    assert!(
        !without_root || text.contains("Not measured without root: kernel, auto, xdp"),
        "{text}"
    );
    let study = json(&place.path("study.json"));
    assert_is("corelane-study", &study);
    assert_eq!(study["environment"]["seed"], 7);
    assert!(
        study["environment"]["kernel"]
            .as_str()
            .unwrap()
            .starts_with("Linux")
    );
    let lines = std::fs::read_to_string(place.path("study-results.jsonl")).unwrap();
    let line: Value = serde_json::from_str(&lines).unwrap();
    assert_is("corelane-study-line", &line);
    assert_eq!(line["environment"]["seed"], 7);
    assert_eq!(line["forwarding"].as_array().unwrap().len(), 6);
    let rows = study["forwarding"].as_array().unwrap();
    assert_eq!(
        rows.len(),
        4 * (2 + 3) + 2,
        "the shipped table and three experiments, two sizes, three rates of route changes; two \
         more at the smallest size, for the price of the lock"
    );
    for row in rows {
        check_row(row, &study);
        assert_eq!(row["engine"], "memory");
        assert_eq!(
            (row["routes"].as_u64(), row["destinations"].as_u64()),
            (Some(5), Some(1 << 20))
        );
    }
    shipped_rows_are_shown(rows, &text);
    let measured = rows
        .iter()
        .filter(|row| row["frames_per_second"].as_f64() > Some(0.0));
    assert!(measured.count() > rows.len() / 2, "{study}");
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    for part in [
        "Table 1.",
        "Table 2.",
        "Table 3.",
        "Table 4.",
        "What the lock costs: 64-byte frames",
        "prefers-color-scheme",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // A plot shows what could be told, so on a busy machine there may be none.
    let is_plotted = |row: &Value| {
        let table = row["table"].as_str();
        let for_the_lock = ["one-by-one", "locked-per-core"].map(Some).contains(&table);
        row["weak"].is_null() && row["route_changes_per_second"] == 0 && !for_the_lock
    };
    let has_plot = rows.iter().any(is_plotted);
    let shown = page.contains("Throughput against frame size");
    assert_eq!(shown, has_plot, "{study}");
    crate::page::is_for_everybody(&place.path("report.html"));

    let again = place.run(&[
        "report",
        "study.json",
        "--full",
        "--html",
        "again.html",
        "--markdown",
        "tables.md",
        "--plots",
        "plots",
    ]);
    assert!(again.status.success(), "{again:?}");
    assert_eq!(String::from_utf8(again.stdout).unwrap(), text);
    let earlier = place.run(&["--from", "study.json", "--html", "again.html"]);
    assert!(String::from_utf8_lossy(&earlier.stderr).contains("is now `study report FILE`"));
    let answer = place.run(&["report", "study.json", "--html", "again.html"]);
    assert_eq!(answer.stdout, earlier.stdout);
    let answer = String::from_utf8(answer.stdout).unwrap();
    assert!(answer.contains("Frames/s of 64 bytes"), "{answer}");
    assert!(answer.lines().count() <= 25, "{answer}");
    let markdown = std::fs::read_to_string(place.path("tables.md")).unwrap();
    assert!(markdown.contains("**Table 1. One core, frames/s**"));
    assert!(place.path("again.html").exists());
    assert!(!has_plot || place.path("plots/plot-1.svg").exists());
    // What was measured before is no result again.
    let unchanged = std::fs::read_to_string(place.path("study-results.jsonl")).unwrap();
    assert_eq!(unchanged, lines);
}

/// What stands in the report stands in JSON, and an earlier version's file is refused.
#[test]
fn two_cores_have_a_forecast() {
    if !needs::two_cores() {
        return;
    }
    let place = Place::new();
    let arguments = "--quick --full --cores 2 --seconds 2 --rounds 3 --routes routes.txt \
                     --engine memory";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let alone = needs::cores();
    let output = place.run(&arguments);
    drop(alone);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let study = json(&place.path("study.json"));
    let model = &study["model"];
    if model.is_null() {
        // Other programs had the cores or the memory; then the report says so.
        assert!(text.contains("No forecast: "), "{text}");
        return;
    }
    assert_eq!(model["machine"]["cores"], 2);
    for figure in ["read_one", "read_all", "computing", "load_one", "line_move"] {
        let estimate = &model["machine"][figure];
        let [low, value, high] = ["/interval/low", "/value", "/interval/high"]
            .map(|place| estimate.pointer(place).unwrap().as_f64().unwrap());
        assert!(
            0.0 < low && low <= value && value <= high,
            "{figure}: {estimate}"
        );
    }
    assert!(text.contains("What the cores share"), "{text}");
    // On a busy machine no frame may have come through in so short a time.
    for forecast in model["forecasts"].as_array().unwrap() {
        assert_eq!(forecast["engine"], "memory");
        assert_eq!(forecast["workers"], 2);
        assert_eq!(forecast["frame_bytes"], 64);
        for band in forecast["bands"].as_array().unwrap() {
            let grown = band["grown"].as_f64().unwrap();
            assert!(
                band["shared"].as_f64().is_none_or(|shared| shared <= grown),
                "{band}"
            );
        }
        assert!(text.contains("What the forecast assumes"), "{text}");
    }
    let old = std::fs::read_to_string(place.path("study.json")).unwrap();
    let old = old.replace("corelane-study/5", "corelane-study/4");
    std::fs::write(place.path("old.json"), old).unwrap();
    let refused = place.run(&["report", "old.json"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("corelane-study/4"),
        "{refused:?}"
    );
}

/// So short a measurement decides nothing: either answer will do.
#[test]
fn the_bounds_are_written_with_what_they_are_made_of() {
    let place = Place::new();
    let _cores = needs::cores();
    let words = "--bounds --engine memory --quick --seconds 1 --routes routes.txt --json b.json";
    let output = place.run(&words.split(' ').collect::<Vec<_>>());
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("What forwarding must hold"), "{text}");
    assert_is("corelane-study-bounds", &json(&place.path("b.json")));
}

/// The keys and values that `corelane-study/5` promises of a row of this study.
fn check_row(row: &Value, study: &Value) {
    let keys = [
        "engine",
        "table",
        "workers",
        "frame_bytes",
        "routes",
        "destinations",
        "route_changes_per_second",
        "frames_per_second",
        "bits_per_second",
        "low",
        "high",
        "no_loss_frames_per_second",
    ];
    let object = row.as_object().unwrap();
    let more = usize::from(object.contains_key("weak"));
    assert_eq!(object.len(), keys.len() + more);
    assert!(keys.iter().all(|key| object.contains_key(*key)), "{row}");
    let number = |key: &str| row[key].as_f64().unwrap();
    let engine = row["engine"].as_str().unwrap();
    assert!(
        ["memory", "kernel"].contains(&engine) || EngineKind::from_str(engine, false).is_ok(),
        "{engine} is neither the baseline nor an engine that the router opens"
    );
    let tables = [
        "shipped",
        "locked",
        "shared",
        "per-core",
        "one-by-one",
        "locked-per-core",
        "kernel",
    ];
    assert!(tables.contains(&row["table"].as_str().unwrap()));
    // On a machine too busy for a trial of some milliseconds there is none, and a sentence why.
    let silent = || {
        study["left_out"]
            .to_string()
            .contains("none of the frames sent came through")
    };
    assert!(number("frames_per_second") > 0.0 || silent(), "{row}");
    assert!(
        number("low") <= number("frames_per_second")
            && number("frames_per_second") <= number("high"),
        "{row}"
    );
    let bits = number("frames_per_second") * number("frame_bytes") * 8.0;
    assert!(
        (number("bits_per_second") - bits).abs() <= 1e-9 * bits,
        "{row}"
    );
}

#[test]
fn workers_behind_sockets_are_measured_and_every_frame_is_accounted_for() {
    if !needs::root("to make network namespaces") {
        return;
    }
    let place = Place::new();
    let alone = needs::cores();
    let child = place
        .command(&[
            "--quick",
            "--engine",
            "af-xdp,af-packet",
            "--cores",
            "1",
            "--seconds",
            "2",
            "--rounds",
            "1",
            "--routes",
            "routes.txt",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    drop(alone);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(namespaces_of(pid), [""; 0]);
    let study = json(&place.path("study.json"));
    let rows = study["forwarding"].as_array().unwrap();
    let of = |engine: &str| rows.iter().filter(|row| row["engine"] == engine).count();
    assert_eq!(
        (of("af-xdp"), of("af-packet")),
        (2 + 3, 2 + 3),
        "two sizes and three rates of route changes, one table an engine"
    );
    for row in rows {
        check_row(row, &study);
    }
    let costs = study["route_changes"].as_array().unwrap();
    assert_eq!(costs.len(), 2 * 3);
    let searches = study["searches"].as_array().unwrap();
    assert_eq!(searches.len(), 2 * 2, "engines times two sizes");
    for search in searches {
        let found = &search["no_loss_frames_per_second"];
        let because = search["because"].as_str().unwrap();
        assert!(found.is_number() || !because.is_empty(), "{search}");
        let row = rows.iter().find(|row| {
            ["engine", "table", "workers", "frame_bytes"]
                .iter()
                .all(|key| row[key] == search[key])
                && row["route_changes_per_second"] == 0
        });
        // A rate without evidence is no row's.
        let told = if search["weak"].is_null() {
            found
        } else {
            &Value::Null
        };
        assert_eq!(&row.unwrap()["no_loss_frames_per_second"], told);
    }
    let transfers = study["transfers"]["rows"].as_array().unwrap();
    assert_eq!(transfers.len(), 2 * 2, "a row for each case and engine");
    for row in transfers {
        assert!(row["payload_bits_per_second"].as_f64() > Some(0.0), "{row}");
        assert!(row["cpu_seconds_per_gigabit"].is_number(), "{row}");
        // Linux alone was not asked for.
        assert!(row["against_linux"].is_null(), "{row}");
    }
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    assert!(page.contains("Table 5.") && page.contains("bisection (RFC 2544"));
    assert!(page.contains("Table 6.") && page.contains("TCP, 8 flows, offloads on, MTU 1500"));
    for method in study["methods"].as_array().unwrap() {
        let method = method["text"].as_str().unwrap();
        assert!(
            method.contains("share each core") && method.contains("frames sent"),
            "{method}"
        );
        assert!(!method.contains("nothing explains"), "{method}");
    }
}
