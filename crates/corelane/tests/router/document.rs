//! `docs/router.md` as its reader would use it: every command of its first chapter is typed as it
//! stands there.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;

use host::bed::{Bed, side};

use super::lab::{is_root, text};
use crate::pages::{page, repository};

/// The lines of the shell blocks of one chapter.
fn commands(heading: &str) -> Vec<String> {
    let text = page("router.md");
    let chapter = text
        .split("\n## ")
        .find(|chapter| chapter.starts_with(heading));
    let chapter = chapter.unwrap_or_else(|| panic!("no chapter {heading:?}"));
    let lines = crate::pages::commands(chapter);
    lines.lines().map(String::from).collect()
}

/// What the machine of the reader has and this one has not: packages, a service manager. The rest
/// is typed as it stands. `corelane run` holds a terminal of its own; the next line is typed when
/// it is ready.
const SURROUNDINGS: &str = r#"
mount -t tmpfs none /run
mkdir -p /run/frr
mount --bind "$LAB/frr" /etc/frr
chown -R frr:frr /run/frr /etc/frr
apt-get() { :; }
cargo() { :; }
install() { :; }
systemctl() {
    [ "$*" = "restart frr" ] || return 1
    for daemon in zebra ospfd; do
        grep -q "^$daemon=yes" /etc/frr/daemons || [ $daemon = zebra ] || continue
        /usr/lib/frr/$daemon -d -f /etc/frr/frr.conf 2>/dev/null
    done
}
corelane() {
    if [ "$1" != run ]; then
        "$CORELANE" "$@"
        return
    fi
    "$CORELANE" "$@" > "$LAB/out" 2> "$LAB/log" &
    for wait in $(seq 100); do
        grep -q ^ready "$LAB/out" && return
        sleep 0.1
    done
    return 1
}
finish() {
    kill $(jobs -p) $(cat /run/frr/*.pid) 2>/dev/null
    wait
}
trap finish EXIT
set -e
"#;

#[test]
fn every_command_of_the_first_chapter_works_as_typed() {
    if !is_root()
        || !needs::program("zebra")
        || !needs::program("ospfd")
        || !needs::program("vtysh")
        || !needs::program("unshare")
    {
        return;
    }
    let bed = Bed::plan()
        .cable(side("r", "eth1"), side("left", "e"))
        .cable(side("r", "eth2"), side("right", "e"))
        .lay()
        .unwrap();
    let r = bed.namespace("r").unwrap();
    let lab = tempfile::tempdir().unwrap();
    std::fs::create_dir(lab.path().join("frr")).unwrap();
    for (name, content) in [
        ("daemons", "ospfd=no\n"),
        ("frr.conf", "hostname r\n"),
        ("vtysh.conf", "\n"),
    ] {
        std::fs::write(lab.path().join("frr").join(name), content).unwrap();
    }
    let mut script = String::from(SURROUNDINGS);
    for line in commands("From nothing to a forwarding box with FRR") {
        writeln!(script, "echo '# {}'\n{line}", line.replace('\'', "'\\''")).unwrap();
    }
    let output = r
        .command("unshare")
        .args(["--mount", "bash", "-c", &script])
        .current_dir(repository())
        .env("LAB", lab.path())
        .env("CORELANE", env!("CARGO_BIN_EXE_corelane"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = text(&output);
    let log = std::fs::read_to_string(lab.path().join("log")).unwrap_or_default();
    assert!(output.status.success(), "{printed}\nlog: {log}");
    for part in [
        "# corelane doctor --port eth1 --port eth2",
        "eth1: native XDP",
        "eth2 is up",
        "Area 0.0.0.0",
        "address: 203.0.113.9",
        "mirror lag",
        "different: 0",
    ] {
        assert!(
            printed.contains(part),
            "{part:?} is not in\n{printed}\nlog: {log}"
        );
    }
}

#[test]
fn every_reason_and_key_is_explained() {
    let text = page("router.md");
    for reason in fastpath::forward::Reason::ALL {
        let name = format!("`{}`", reason.name());
        let row = text
            .lines()
            .find(|line| line.starts_with('|') && line.contains(&name));
        let row = row.unwrap_or_else(|| panic!("docs/router.md does not explain {name}"));
        let fate = if reason.is_punted() {
            "| kernel |"
        } else {
            "| dropped |"
        };
        assert!(row.contains(fate), "{name} is {fate} in truth: {row}");
    }
    // The example says nothing but the defaults, with every line switched on.
    let example = std::fs::read_to_string(repository().join("dist/corelane.toml")).unwrap();
    let on: String = example
        .lines()
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|line| line.contains(" = "))
                .unwrap_or(line)
        })
        .fold(String::new(), |text, line| text + line + "\n");
    let parse = |text: &str| router::management_plane::config::Config::parse(text, "example");
    assert_eq!(parse(&example), parse(&on));
    assert!(parse(&on).is_ok());
    for line in on.lines().filter(|line| line.contains(" = ")) {
        let key = line.split(" = ").next().unwrap();
        assert!(
            text.contains(&format!("| `{key}` |")),
            "{key} is not explained"
        );
    }
}

/// The sources of every crate's tests.
fn sources(directory: &Path, found: &mut String) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn the_tests_that_back_its_promises_exist() {
    let text = page("router.md");
    let begin = text.find("### The promises and their tests").unwrap();
    let table = text[begin..].split("\n## ").next().unwrap();
    let mut tests = String::new();
    for crate_name in ["bpf", "corelane", "router", "fastpath"] {
        let directory = repository().join("crates").join(crate_name).join("tests");
        sources(&directory, &mut tests);
    }
    let words = table.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let names: Vec<&str> = words.filter(|word| word.matches('_').count() > 1).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(tests.contains(&format!("fn {name}(")), "no test {name}");
    }
}
