//! Two machines, played by two namespaces and a script in place of ssh. Needs root.

use std::os::unix::fs::PermissionsExt;

use host::{Namespace, Veth};
use tester::addresses;

use super::support::{SHORT, alone, directory, path, received, root, rows, text, trials};

/// Sender, kernel router and receiver in namespaces of their own.
struct Lab {
    here: Namespace,
    there: Namespace,
    _device: Namespace,
}

fn lab() -> Lab {
    let [here, there, device] =
        ["far-here", "far-there", "far-device"].map(|name| Namespace::new(name).unwrap());
    device.set("net.ipv4.ip_forward", "1").unwrap();
    let mac = |mac: [u8; 6]| mac.map(|byte| format!("{byte:02x}")).join(":");
    for (port, near, interface) in [(0, &here, "p0"), (1, &there, "p1")] {
        let far = format!("q{port}");
        let cable = Veth::new((near, interface), (&device, &far), 1).unwrap();
        let own = addresses::tester_v4(port);
        for line in [
            format!("addr add {}/24 dev {far}", addresses::device_v4(port)),
            format!("neigh add {own} lladdr {} dev {far}", mac(cable.a.mac)),
        ] {
            device.ip(line).unwrap();
        }
        for (network, length) in addresses::behind_v4(port, 2) {
            let line = format!("route add {network}/{length} via {own}");
            device.ip(line).unwrap();
        }
        if port == 0 {
            let line = format!(
                "neigh add {} lladdr {} dev p0",
                addresses::device_v4(0),
                mac(cable.b.mac)
            );
            near.ip(line).unwrap();
        }
    }
    Lab {
        here,
        there,
        _device: device,
    }
}

#[test]
fn one_machine_sends_and_another_receives() {
    if !root() {
        return;
    }
    let _alone = alone();
    let lab = lab();
    let directory = directory();
    // As ssh does, it takes the machine's name first and then the command.
    let (shell, shell_name) = path(&directory, "shell");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = somebody@far ] || exit 9\nshift\nexec ip netns exec {} \"$@\"\n",
        lab.there.name()
    );
    std::fs::write(&shell, script).unwrap();
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (file, file_name) = path(&directory, "result.json");
    let program = env!("CARGO_BIN_EXE_corelane");
    let run = |more: &[&str]| {
        let mut command = lab.here.command(program);
        command.args(["test", "loss", "--dut", "external", "--rate", "1000"]);
        command.args(SHORT);
        command.args(["--sizes", "64", "--json", &file_name]);
        command.args(["--ssh", &shell_name, "--far-program", program]);
        command.args(more).output().unwrap()
    };
    let output = run(&["--far", "somebody@far", "--ports", "p0,p1"]);
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
    let output = run(&["--far", "somebody@far", "--ports", "p0,p1", "--round-trip"]);
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
    let wrong_port = said(&["--far", "somebody@far", "--ports", "p0,nothing"]);
    assert!(wrong_port.contains("nothing"), "{wrong_port}");
    let wrong_host = said(&["--far", "nobody@far", "--ports", "p0,p1"]);
    assert!(wrong_host.contains("hung up"), "{wrong_host}");
    let both = said(&["--far", "somebody@far", "--ports", "p0,p1", "--both-ways"]);
    assert!(both.contains("one way"), "{both}");
}
