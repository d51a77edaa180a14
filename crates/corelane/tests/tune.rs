//! `corelane tune` between the ends of a cable: said, done, put back.

use std::process::Output;

use host::Namespace;
use host::bed::{Bed, side};
use serde_json::Value;

use crate::each::for_nobody;
use crate::schemas::assert_is;

/// Everything that may change of `r0` and `r1`, as other programs see it.
const STATE: &str = "for port in r0 r1; do ethtool -l $port; ethtool -k $port; cd \
                     /sys/class/net/$port; grep -H . threaded tx_queue_len queues/*/*_cpus; done";

struct Lab {
    bed: Bed,
    directory: tempfile::TempDir,
}

impl Lab {
    /// Two cables from `r` to `a` with four queues at most, of which `r` uses one, with NAPI
    /// threads. `None` where that cannot be had.
    fn new() -> Option<Self> {
        let ready = needs::root("for network namespaces")
            && needs::two_cores()
            && needs::program("ethtool");
        if !ready {
            return None;
        }
        let plan = Bed::plan().queues(4);
        let plan = plan.cable(side("r", "r0"), side("a", "a0"));
        let bed = plan.cable(side("r", "r1"), side("a", "a1")).lay().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let lab = Self { bed, directory };
        for port in ["r0", "r1"] {
            lab.shell(&format!(
                "ethtool -L {port} rx 1 tx 1; ethtool -K {port} gro on"
            ));
            host::napi::set_threaded(lab.r(), port, true).unwrap();
        }
        Some(lab)
    }

    fn r(&self) -> &Namespace {
        self.bed.namespace("r").unwrap()
    }

    fn shell(&self, script: &str) -> String {
        let output = self
            .r()
            .command("sh")
            .args(["-c", script])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// `corelane tune r0 r1` with two cores and more options.
    fn tune(&self, options: &[&str]) -> (Option<i32>, String) {
        self.finish(
            &mut self.r().command(env!("CARGO_BIN_EXE_corelane")),
            options,
        )
    }

    fn finish(
        &self,
        command: &mut std::process::Command,
        options: &[&str],
    ) -> (Option<i32>, String) {
        let cores = host::allowed_cores().unwrap();
        let cores = host::cores::write_list(&cores[..2]);
        command.args(["tune", "r0", "r1", "--cores", &cores, "--run-directory"]);
        let output: Output = command
            .arg(self.directory.path())
            .args(options)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }
}

#[test]
fn a_dry_run_changes_nothing_and_undo_gives_back_what_apply_changed() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.shell(STATE);
    let (code, said) = lab.tune(&["--engine", "tc", "--json"]);
    assert_eq!(code, Some(3), "{said}");
    let value: Value = serde_json::from_str(&said).unwrap();
    assert_is("corelane-tune", &value);
    let settings = value["settings"].as_array().unwrap();
    let find = |port: &str, setting: &str| {
        let mut all = settings.iter();
        all.find(|row| row["port"] == port && row["setting"] == setting)
    };
    let queues = find("r1", "queues").unwrap();
    assert_eq!(queues["now"], "rx 1 tx 1 combined 0");
    assert_eq!(queues["wanted"], "rx 2 tx 2 combined 0");
    assert_eq!(find("r0", "NAPI threads").unwrap()["wanted"], "0");
    assert!(find("r0", "GRO").is_none(), "{said}");
    let mut command = lab.r().command(env!("CARGO_BIN_EXE_corelane"));
    command.args(["tune", "r0", "r1", "--engine", "tc", "--run-directory"]);
    let output = for_nobody(command.arg(lab.directory.path()));
    assert_eq!(
        output.status.code(),
        Some(3),
        "the answer is as for readers"
    );
    assert_eq!(lab.shell(STATE), before);

    let (code, said) = lab.tune(&["--engine", "tc", "--apply"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("cores of tx-1 (XPS)"),
        "of a queue that is new: {said}"
    );
    let tuned = lab.shell(STATE);
    assert_ne!(tuned, before);
    let (code, said) = lab.tune(&["--engine", "tc"]);
    assert_eq!(code, Some(0), "nothing is left: {said}");

    // The oldest values stay, whatever is changed between.
    host::napi::set_threaded(lab.r(), "r0", true).unwrap();
    let (code, said) = lab.tune(&["--engine", "af-packet", "--apply"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        lab.shell("ethtool -k r0")
            .contains("generic-receive-offload: off")
    );

    let (code, said) = lab.tune(&["--undo"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(lab.shell(STATE), before);
    let (code, said) = lab.tune(&["--undo"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("no record of r0"), "{said}");
}

#[test]
fn a_port_that_has_gone_is_said_and_the_others_are_put_back() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.shell("ethtool -l r1");
    let (code, said) = lab.tune(&["--apply"]);
    assert_eq!(code, Some(0), "{said}");
    lab.r().ip("link del r0").unwrap();
    // A later one of its name is another.
    lab.r().ip("link add r0 type veth peer name r9").unwrap();
    let (code, said) = lab.tune(&["--undo"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("gone with its device"), "{said}");
    assert_eq!(lab.shell("ethtool -l r1"), before);
}

#[test]
fn what_is_refused_is_said_with_the_reason_and_the_rest_is_done() {
    let Some(lab) = Lab::new() else { return };
    // Files of settings cannot be written there; the rest is no file.
    let script = "mount -o remount,bind,ro /sys && exec \"$@\"";
    let mut command = lab.r().command("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_corelane")]);
    let (code, said) = lab.finish(&mut command, &["--apply"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("refused: Read-only file system"), "{said}");
    assert!(lab.shell("ethtool -l r1").contains("TX:\t\t2"), "{said}");
    assert!(lab.shell("cat /sys/class/net/r1/threaded").contains('1'));
    let (code, said) = lab.tune(&["--undo"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("NAPI threads"), "it was not changed: {said}");
}

#[test]
fn mistakes_are_named() {
    let Some(lab) = Lab::new() else { return };
    let (code, said) = lab.tune(&["zz"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no interface `zz`"), "{said}");
    let (code, said) = lab.tune(&["--undo", "../up"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no interface `../up`"), "{said}");
    // A thread that only joined the namespace still sees other interfaces in /sys.
    let mut command = std::process::Command::new("nsenter");
    let handle = format!("--net={}", lab.r().path().display());
    command.args([&handle, env!("CARGO_BIN_EXE_corelane")]);
    let (code, said) = lab.finish(&mut command, &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("ip netns exec"), "{said}");
}
