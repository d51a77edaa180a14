//! A process that is killed in the middle leaves a record that puts everything back.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::process::Command;

use host::Namespace;
use host::bed::{Bed, side};
use tune::{Access, Change, Records, Setting, System, apply, undo};

/// Says what another process does in [`another_process`]: the writes before it is killed, and
/// whether it dies after the last of them (`3 true`), or `undo`.
const ROLE: &str = "CORELANE_TEST_TUNE";
/// Where its records are.
const PLACE: &str = "CORELANE_TEST_TUNE_PLACE";
/// Everything that may change, as other programs see it.
const STATE: &str = "ethtool -l r0; ethtool -k r0; cd /sys/class/net/r0; grep -H . threaded \
                     tx_queue_len queues/*/*_cpus";
/// What is changed. The queues take settings of theirs along.
const CHANGES: [(Setting, &str); 6] = [
    (Setting::SendCores(1), "0"),
    (Setting::Queues, "rx 2 tx 2 combined 0"),
    (Setting::NapiThreads, "0"),
    (Setting::Gro, "off"),
    (Setting::SteerCores(1), "1"),
    (Setting::SendQueueLength, "700"),
];

/// Dies at a write.
struct Dying {
    writes: Cell<u32>,
    after: bool,
}

impl Access for Dying {
    fn index(&self, port: &str) -> io::Result<u32> {
        System.index(port)
    }

    fn read(&self, port: &str, setting: Setting) -> io::Result<String> {
        System.read(port, setting)
    }

    fn write(&self, port: &str, setting: Setting, value: &str) -> io::Result<()> {
        let is_last = self.writes.get() == 0;
        if !is_last || self.after {
            System.write(port, setting, value)?;
        }
        if is_last {
            Command::new("kill")
                .args(["-9", &std::process::id().to_string()])
                .status()?;
            unreachable!("killed");
        }
        self.writes.set(self.writes.get() - 1);
        Ok(())
    }

    fn of_queues(&self, port: &str) -> Vec<Setting> {
        System.of_queues(port)
    }
}

/// What another process does in the next test; without a role it has nothing to do.
#[test]
fn another_process() {
    let (Ok(role), Some(place)) = (std::env::var(ROLE), std::env::var_os(PLACE)) else {
        return;
    };
    let records = Records::open(Path::new(&place)).unwrap();
    let Some((writes, after)) = role.split_once(' ') else {
        let made = undo(&System, &records, "r0").unwrap();
        assert!(made.is_some(), "there is a record");
        return;
    };
    let access = Dying {
        writes: Cell::new(writes.parse().unwrap()),
        after: after == "true",
    };
    for (setting, to) in CHANGES {
        let change = Change {
            port: "r0".to_owned(),
            setting,
            from: System.read("r0", setting).unwrap(),
            to: to.to_owned(),
            why: "",
        };
        apply(&access, &records, &change).unwrap();
    }
}

fn other(namespace: &Namespace, place: &Path, role: &str) -> std::process::Output {
    let mut command = namespace.command(std::env::current_exe().unwrap());
    command.args(["--exact", "crash::another_process"]);
    command.env(ROLE, role).env(PLACE, place).output().unwrap()
}

#[test]
fn after_a_kill_at_any_write_undo_restores_exactly_what_was() {
    if !needs::root("to make network namespaces") || !needs::program("ethtool") {
        return;
    }
    let plan = Bed::plan().queues(4);
    let bed = plan.cable(side("r", "r0"), side("a", "a0")).lay().unwrap();
    let r = bed.namespace("r").unwrap();
    let shell = |script: &str| {
        let output = r.command("sh").args(["-c", script]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // Three of four queues have cores, which go when the last two queues do.
    shell(
        "ethtool -K r0 gro on; cd /sys/class/net/r0/queues; echo 1 > tx-3/xps_cpus; \
         echo 1 > tx-0/xps_cpus; echo 1 > rx-2/rps_cpus",
    );
    host::napi::set_threaded(r, "r0", true).unwrap();
    let before = shell(STATE);
    assert!(before.contains("tx-3/xps_cpus:1"), "{before}");
    for writes in 0..CHANGES.len() {
        for after in [false, true] {
            let place = tempfile::tempdir().unwrap();
            let killed = other(r, place.path(), &format!("{writes} {after}"));
            assert_eq!(killed.status.code(), None, "{killed:?}");
            let is_as_before = shell(STATE) == before;
            assert_eq!(
                is_as_before,
                (writes, after) == (0, false),
                "{writes} {after}"
            );
            let undone = other(r, place.path(), "undo");
            assert!(undone.status.success(), "{undone:?}");
            assert_eq!(shell(STATE), before, "killed at {writes}, after: {after}");
        }
    }
}
