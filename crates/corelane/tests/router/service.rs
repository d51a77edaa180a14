//! The unit for systemd: well formed, with exactly the rights that the program keeps, and little
//! else to reach.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use router::privileges::{KEPT, KEPT_FOR_SOCKETS};

use super::lab::text;

/// The highest exposure that `systemd-analyze security` may find, in tenths of its points; 100 is
/// none of its restrictions.
const EXPOSURE: &str = "45";

fn dist(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../dist")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Every word of every line `key=...`.
fn words<'a>(unit: &'a str, key: &str) -> BTreeSet<&'a str> {
    let values = unit
        .lines()
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    values.flat_map(str::split_whitespace).collect()
}

fn names<'a>(rights: &[(u32, &'a str)]) -> BTreeSet<&'a str> {
    rights.iter().map(|(_, name)| *name).collect()
}

#[test]
fn the_unit_grants_what_the_program_keeps_and_no_more() {
    let (unit, more) = (dist("corelane.service"), dist("corelane-sockets.conf"));
    assert_eq!(words(&unit, "CapabilityBoundingSet"), names(&KEPT));
    assert_eq!(
        words(&more, "CapabilityBoundingSet"),
        names(&KEPT_FOR_SOCKETS)
    );
    // Who is not granted a right for everybody must not be given it another way.
    assert!(words(&unit, "AmbientCapabilities").is_empty());
    assert_eq!(words(&unit, "NoNewPrivileges"), BTreeSet::from(["yes"]));
}

/// The unit as it would be installed, but for the place of the program.
fn installed(directory: &Path, sockets: bool) -> PathBuf {
    let unit =
        dist("corelane.service").replace("/usr/local/bin/corelane", env!("CARGO_BIN_EXE_corelane"));
    let path = directory.join("corelane.service");
    std::fs::write(&path, unit).unwrap();
    if sockets {
        let beside = directory.join("corelane.service.d");
        std::fs::create_dir_all(&beside).unwrap();
        std::fs::write(beside.join("sockets.conf"), dist("corelane-sockets.conf")).unwrap();
    }
    path
}

fn analyze(arguments: &[&str], unit: &Path) -> Output {
    let mut command = Command::new("systemd-analyze");
    command.args(arguments).arg(unit).env("SYSTEMD_COLORS", "0");
    command.output().unwrap()
}

#[test]
fn systemd_finds_no_fault_with_the_unit() {
    if !needs::program("systemd-analyze") {
        return;
    }
    for sockets in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let unit = installed(directory.path(), sockets);
        let said = analyze(&["verify", "--man=no"], &unit);
        let printed = text(&said);
        assert!(said.status.success(), "{printed}");
        // It looks at units of this machine too.
        assert!(!printed.contains("corelane"), "{printed}");
        let threshold = format!("--threshold={EXPOSURE}");
        let said = analyze(
            &["security", "--offline=true", "--no-pager", &threshold],
            &unit,
        );
        let printed = text(&said);
        println!("{}", printed.trim().lines().last().unwrap_or_default());
        assert!(said.status.success(), "{printed}");
    }
}
