//! The committed objects are in libbpf's form: its own tools load them, and show the maps that our
//! loader makes with their fields.

use std::process::{Command, Output};

use fastpath::sink::{Checks, Sink};

fn cannot_run() -> bool {
    !needs::root("to load eBPF programs") || !needs::program("bpftool")
}

/// `bpftool ARGUMENTS`
fn bpftool(arguments: &[&str]) -> Output {
    let paths = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap());
    let mut command = Command::new("bpftool");
    command.env("PATH", paths).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Where a loaded object is pinned; taken away at the end.
struct Pinned(String);

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn libbpf_loads_every_object() {
    if cannot_run() {
        return;
    }
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/built");
    for entry in std::fs::read_dir(built).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // How much of a frame they keep is a constant that each capture gives them: with none they
        // have no room for a frame. The tests of captures load them.
        if name.starts_with("captured") {
            continue;
        }
        let pid = std::process::id();
        let pinned = Pinned(format!(
            "/sys/fs/bpf/corelane-{pid}-{}",
            name.replace('.', "-")
        ));
        let output = bpftool(&["prog", "loadall", path.to_str().unwrap(), &pinned.0]);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        assert!(
            std::fs::read_dir(&pinned.0).unwrap().next().is_some(),
            "{name}"
        );
    }
}

#[test]
fn a_dump_names_the_fields() {
    if cannot_run() {
        return;
    }
    let _sink = Sink::new(Checks::ALL).unwrap();
    for (map, field) in [
        ("since", "value"),
        ("streams", "largest"),
        (".rodata", "WINDOW"),
    ] {
        // Maps of other tests have the same names; one that goes meanwhile fails the whole dump.
        let found = (0..20).any(|_| {
            let dump = bpftool(&["map", "dump", "name", map]).stdout;
            text(&dump).contains(&format!("\"{field}\":"))
        });
        assert!(found, "{map} shows no {field}");
    }
}
