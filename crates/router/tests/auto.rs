//! Engine `auto`: where each port's program is, and how it moves.

use std::process::Command;
use std::time::{Duration, Instant};

use fastpath::forward::{Capacity, Device, PortSettings, Suits};
use host::bed::{Bed, side};
use router::engine::{self, Change, Engine, EngineKind, Port, Require, SocketOptions};

use super::held;

pub(crate) fn modes(engine: &dyn Engine) -> Vec<(String, &'static str)> {
    let modes = engine.modes().into_iter();
    modes.map(|mode| (mode.port, mode.mode)).collect()
}

/// A port that is on.
pub(crate) fn port(name: &str) -> Port {
    Port {
        ifindex: bpf::attach::index_of(name).unwrap(),
        name: name.to_owned(),
        mtu: 1500,
        settings: PortSettings {
            enabled: true,
            mac: [2, 0, 0, 0, 0, 1],
            ..PortSettings::default()
        },
    }
}

/// Waits until r0 is attached like that; what was said meanwhile.
fn wait_for(engine: &mut dyn Engine, mode: &'static str) -> String {
    let end = Instant::now() + Duration::from_mins(1);
    let mut said = String::new();
    while modes(engine) != [("r0".to_owned(), mode)] {
        if let Err(error) = engine.check() {
            said += &error.to_string();
        }
        assert!(Instant::now() < end, "{:?}: {said}", modes(engine));
        std::thread::sleep(Duration::from_millis(10));
    }
    said
}

#[test]
fn a_port_whose_device_changes_has_its_program_moved_and_the_log_says_so() {
    if !needs::root("for network namespaces, eBPF") {
        return;
    }
    let bed = Bed::plan()
        .cable(side("r", "r0"), side("a", "e0"))
        .lay()
        .unwrap();
    let work = || {
        let names = ["r0".to_owned()];
        let open = |require| {
            engine::open(
                EngineKind::Auto,
                &names,
                require,
                SocketOptions::default(),
                Capacity::default(),
                true,
            )
            .unwrap()
        };
        // Whoever requires a mode has it, and nothing at tc.
        let engine = open(Require::Native);
        assert_eq!(modes(&*engine), [("r0".to_owned(), "native")]);
        assert_eq!(engine.programs_at_tc(port("r0").ifindex), 0);
        assert!(!engine.passes_disciplines());
        drop(engine);
        let mut engine = open(Require::Any);
        let r0 = port("r0");
        engine.apply(&[Change::Port(r0.clone())]).unwrap();
        assert_eq!(modes(&*engine), [("r0".to_owned(), "tc,software-device")]);
        assert_eq!(engine.programs_at_tc(r0.ifindex), 1);
        let mut device = Device::ask("r0", r0.ifindex).unwrap();
        engine.set_device(r0.ifindex, device);
        assert_eq!(modes(&*engine).len(), 1, "nothing has changed");
        device.suits = Suits::Native;
        // It leaves its place at once, whoever changes links, and comes to the other afterwards.
        let held = held::hold();
        engine.set_device(r0.ifindex, device);
        let mut said = engine.check().unwrap_err().to_string();
        assert!(modes(&*engine).is_empty());
        held.release();
        said += &wait_for(&mut *engine, "native");
        assert!(said.contains("port r0") && said.contains("XDP"), "{said}");
        assert_eq!(engine.programs_at_tc(r0.ifindex), 0);
        assert!(engine.failed_ports().is_empty());
        // Another device of that name is asked anew.
        for line in [
            &["link", "del", "r0"][..],
            &["link", "add", "r0", "type", "bridge"],
        ] {
            assert!(Command::new("ip").args(line).status().unwrap().success());
        }
        let bridge = port("r0");
        engine.apply(&[Change::Port(bridge.clone())]).unwrap();
        wait_for(&mut *engine, "tc,software-device");
        // Where its driver is to run the program and refuses, it stays at tc, and is said to.
        device.suits = Suits::Native;
        engine.set_device(bridge.ifindex, device);
        assert!(modes(&*engine).is_empty());
        wait_for(&mut *engine, "tc,no-native-xdp");
        assert!(engine.failed_ports().is_empty());
    };
    bed.namespace("r").unwrap().enter(work).unwrap();
}
