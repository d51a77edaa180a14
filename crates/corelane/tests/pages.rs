//! The pages that lead through a task, as their readers use them: every command is typed as it
//! stands there.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The checkout.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page of `docs`.
pub(crate) fn page(name: &str) -> String {
    std::fs::read_to_string(repository().join("docs").join(name)).unwrap()
}

/// The lines of the blocks marked `sh`.
pub(crate) fn commands(text: &str) -> String {
    let blocks = text.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

/// What ends with the shell: what it started.
const FIRST: &str = "trap 'kill $(jobs -p) 2>/dev/null || :; wait' EXIT; set -ex\n";

/// Seconds after which a page that waits for what never comes has failed.
const PATIENCE: &str = "180";

/// Types the commands of a page in an empty directory; the first that fails is the last.
fn typed(name: &str, shell: &[&str], before: &str, after: &str) -> String {
    let script = format!("{before}{FIRST}{}{after}", commands(&page(name)));
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new("timeout")
        .arg(PATIENCE)
        .args(shell)
        .args(["-c", &script])
        .current_dir(directory.path())
        .env("PATH", path_with_corelane())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {}", said(&output));
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "{name} leaves files: {}", said(&output));
    said(&output)
}

/// The same as root, with a `/run` of its own: namespaces and routers in it end with the shell.
/// `before` makes what the page takes for granted, `after` removes what it leaves to its reader.
fn typed_as_root(name: &str, before: &str, after: &str) -> String {
    let shell = ["unshare", "--mount", "bash"];
    typed(
        name,
        &shell,
        &format!("mount -t tmpfs none /run\n{before}"),
        after,
    )
}

/// `PATH` with the program under test in front.
fn path_with_corelane() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_corelane"));
    let directory = program.parent().unwrap().display();
    format!("{directory}:{}", std::env::var("PATH").unwrap())
}

fn said(output: &Output) -> String {
    let [out, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}\n{error}")
}

fn contains(printed: &str, parts: &[&str]) {
    for part in parts {
        assert!(printed.contains(part), "{part:?} is not in\n{printed}");
    }
}

fn able(programs: &[&str]) -> bool {
    needs::root("for network namespaces, XDP and traces")
        && programs.iter().all(|program| needs::program(program))
}

#[test]
fn every_command_of_the_tutorial_works_as_typed() {
    if !able(&["unshare", "ip", "ping", "ethtool"]) {
        return;
    }
    let parts = [
        "ready engine=auto eth1=",
        "10 packets transmitted, 10 received",
        "1 packets transmitted, 0 received",
        "address: 203.0.113.9",
        "different: 0",
    ];
    contains(&typed_as_root("tutorial.md", "", ""), &parts);
}

#[test]
fn packets_are_seen_as_the_page_says() {
    if !able(&[
        "unshare", "ip", "ping", "ethtool", "tcpdump", "tshark", "jq",
    ]) {
        return;
    }
    let parts = [
        "dropped reason=blackhole prefix=203.0.113.0/24",
        "forwarded egress=eth2 next-hop=198.51.100.2 prefix=198.51.100.",
        "the filter runs in the kernel",
        "\"schema\":\"corelane-capture/1\"",
        "20 frames captured; 0 found no room",
        "eth1\tblackhole\t",
    ];
    let after = "rm ready traffic filter frames.pcapng router.toml recording.json\n\
                 rm recording.html again.html\n";
    contains(&typed_as_root("observe.md", "", after), &parts);
}

#[test]
fn what_stops_the_second_core_is_found_as_the_page_says() {
    if !able(&["unshare", "xz"]) || !needs::two_cores() {
        return;
    }
    let parts = [
        "Where the loss went",
        "Not measured here",
        "cores the program used",
    ];
    contains(&typed_as_root("second-core.md", "", ""), &parts);
}

#[test]
fn two_builds_are_compared_as_the_page_says() {
    let parts = ["B is faster"];
    contains(&typed("compare-builds.md", &["bash"], "", ""), &parts);
}

/// A program with a change, one that runs already, and `sudo` for who is root anyway.
const PROGRAMS: &str = "\
sudo() { \"$@\"; }
printf '#!/bin/sh\\nfor n in 1 2 3; do sleep 0.05; done\\n' > my-program
chmod +x my-program
cp my-program my-program-changed
cp \"$(command -v sleep)\" my-server
./my-server 100 &
";

#[test]
fn programs_are_traced_as_the_page_says() {
    if !able(&["unshare", "pidof", "sleep"]) || !needs::two_cores() {
        return;
    }
    let _cores = needs::cores();
    let parts = [
        "mutex `the one table`",
        "What changed:",
        "The whole report:",
    ];
    let printed = typed_as_root("trace.md", PROGRAMS, "rm -f *.trace before.* my-*\n");
    contains(&printed, &parts);
}

#[test]
fn a_device_is_tested_as_the_page_says() {
    if !able(&["unshare"]) || !needs::two_cores() {
        return;
    }
    let _cores = needs::cores();
    let printed = typed_as_root("tester.md", "", "rm result.json result.html again.html\n");
    contains(&printed, &["throughput", "64", "512"]);
}

/// Pages whose blocks marked `sh` a test types: those above, and in `router`.
const TYPED: [&str; 7] = [
    "compare-builds.md",
    "observe.md",
    "router.md",
    "second-core.md",
    "tester.md",
    "trace.md",
    "tutorial.md",
];

/// The documents for users, by their names in the checkout.
fn documents() -> Vec<String> {
    let entries = std::fs::read_dir(repository().join("docs")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let pages = paths.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut all: Vec<String> = pages.map(|path| format!("docs/{}", name(path))).collect();
    all.extend(["README.md", "CONTRIBUTING.md"].map(str::to_owned));
    all.sort();
    all
}

#[test]
fn what_is_marked_for_typing_is_typed() {
    let read = |name: &String| std::fs::read_to_string(repository().join(name)).unwrap();
    let marked = documents()
        .into_iter()
        .filter(|name| !commands(&read(name)).is_empty());
    let marked: Vec<String> = marked.collect();
    assert_eq!(marked, TYPED.map(|name| format!("docs/{name}")));
}

#[test]
fn every_page_is_in_the_list_and_in_the_navigation_of_the_site() {
    let site = std::fs::read_to_string(repository().join("site/mkdocs.yml")).unwrap();
    let list = page("README.md");
    for name in documents() {
        let Some(name) = name
            .strip_prefix("docs/")
            .filter(|name| *name != "README.md")
        else {
            continue;
        };
        assert!(site.contains(&format!(": {name}\n")), "{name}");
        assert!(list.contains(&format!("]({name}")), "{name}");
    }
}

/// A line up to the words that stand beside the command, in a column of their own.
fn without_words(line: &str) -> String {
    let mut columns = line.split("   ").filter(|column| !column.trim().is_empty());
    let command = columns.next().unwrap_or_default().to_owned();
    let more = columns.take_while(|column| column.trim_start().starts_with('-'));
    more.fold(command, |all, column| all + " " + column)
}

/// The command lines of the program in a page's blocks, up to what a shell does with their output.
fn own_lines(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        let block = fenced || line.starts_with("    ");
        let line = line.trim_start().trim_start_matches("# ");
        let line = line.trim_start_matches("sudo ");
        if block && line.starts_with("corelane ") {
            let ends = [" # ", " > ", " | ", " &"].into_iter();
            let end = ends.filter_map(|what| line.find(what)).min();
            lines.push(without_words(&line[..end.unwrap_or(line.len())]));
        }
    }
    lines
}

/// Asks for help in place of what the command would do: its verb and its options are known, and so
/// are their values.
const ASK: &str = r#"pidof() { echo 1; }
corelane() {
    own=()
    for word in "$@"; do [ "$word" = -- ] && break; own+=("$word"); done
    "$CORELANE" "${own[@]}" --help > /dev/null
}
"#;

#[test]
fn every_command_of_the_documents_is_one_that_the_program_takes() {
    let mut known = 0;
    for name in documents() {
        // The reference is the program's own word.
        if name.ends_with("reference.md") {
            continue;
        }
        let text = std::fs::read_to_string(repository().join(&name)).unwrap();
        for line in own_lines(&text) {
            let output = Command::new("bash")
                .args(["-c", &format!("{ASK}{line}")])
                .env("CORELANE", env!("CARGO_BIN_EXE_corelane"))
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert!(output.status.success(), "{name}: {line}: {}", said(&output));
            known += 1;
        }
    }
    assert!(known > 50, "{known}");
}
