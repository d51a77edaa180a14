//! Two machines, played by two namespaces and a script in place of ssh. Needs root.

use std::os::unix::fs::PermissionsExt;

use super::support::{SHORT, directory, external, path, received, root, rows, text, trials};

#[test]
fn one_machine_sends_and_another_receives() {
    if !root() {
        return;
    }
    // Sender, kernel router and receiver in namespaces of their own.
    let bed = external(["here", "there"]);
    let [here, there] = ["here", "there"].map(|place| bed.namespace(place).unwrap());
    let directory = directory();
    // As ssh does, it takes the machine's name first and then the command.
    let (shell, shell_name) = path(&directory, "shell");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = somebody@far ] || exit 9\nshift\nexec ip netns exec {} \"$@\"\n",
        there.name()
    );
    std::fs::write(&shell, script).unwrap();
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (file, file_name) = path(&directory, "result.json");
    let program = env!("CARGO_BIN_EXE_corelane");
    let run = |more: &[&str]| {
        let mut command = here.command(program);
        command.args(["test", "loss", "--dut", "external", "--rate", "1000"]);
        command.args(SHORT);
        command.args(["--sizes", "64", "--json", &file_name]);
        command.args(["--ssh", &shell_name, "--far-program", program]);
        command.args(more).output().unwrap()
    };
    let output = run(&["--far", "somebody@far", "--port", "p0,p1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result = super::support::read(&file);
    let row = rows(&result, "loss")[0];
    assert!(received(row) > 0);
    let setup = result["setup"].to_string();
    assert!(setup.contains("one clock"), "{setup}");
    for trial in trials(row) {
        assert!(trial["latency"]["min_ns"].as_u64() > Some(0), "{trial}");
    }

    // There and back: nothing but this machine's clock, and twice the way.
    let output = run(&["--far", "somebody@far", "--port", "p0,p1", "--round-trip"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result = super::support::read(&file);
    let row = rows(&result, "loss")[0];
    assert!(received(row) > 0);
    let setup = result["setup"].to_string();
    assert!(setup.contains("round trip"), "{setup}");
    for trial in trials(row) {
        assert!(trial["latency"]["min_ns"].as_u64() > Some(0), "{trial}");
        assert_eq!(trial["counts"]["misdirected"], 0);
    }

    let said = |more: &[&str]| {
        let output = run(more);
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    let wrong_port = said(&["--far", "somebody@far", "--port", "p0,nothing"]);
    assert!(wrong_port.contains("nothing"), "{wrong_port}");
    let wrong_host = said(&["--far", "nobody@far", "--port", "p0,p1"]);
    assert!(wrong_host.contains("hung up"), "{wrong_host}");
    let both = said(&["--far", "somebody@far", "--port", "p0,p1", "--both-ways"]);
    assert!(both.contains("one way"), "{both}");
}
