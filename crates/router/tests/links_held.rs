//! Ports that come and go while somebody else changes links: the kernel attaches and detaches when
//! they are done, and nobody who follows routes waits for that.

use std::time::{Duration, Instant};

use fastpath::forward::Capacity;
use fib::Prefix;
use host::bed::{Bed, side};
use port::Pool;
use port::xsk::{Copying, Memory, Options, XskPort};
use router::engine::{self, Change, Engine, EngineKind, MAIN_TABLE, Require, SocketOptions, fixed};

use super::auto::{modes, port};
use super::held;

fn attached(engine: &dyn Engine) -> Vec<String> {
    let mut ports: Vec<String> = modes(engine).into_iter().map(|(port, _)| port).collect();
    ports.sort();
    ports
}

/// Looks after the engine until that is so; whether it ever had a failed port.
fn wait_for(engine: &mut dyn Engine, ready: impl Fn(&dyn Engine) -> bool) -> bool {
    let end = Instant::now() + Duration::from_mins(1);
    let mut failed = false;
    while !ready(engine) {
        let _said = engine.check();
        failed |= !engine.failed_ports().is_empty();
        assert!(Instant::now() < end, "{:?}", attached(engine));
        std::thread::sleep(Duration::from_millis(5));
    }
    failed
}

/// A route changes, and the engine answers by it.
fn follows(engine: &mut dyn Engine, turn: u32) {
    let route = Change::RouteV4 {
        table: MAIN_TABLE,
        prefix: Prefix::new(turn << 8, 24).unwrap(),
        next_hop: fixed::BLACKHOLE,
    };
    engine.apply(&[route]).unwrap();
    let answer = engine.answers().lookup_v4(MAIN_TABLE, turn << 8 | 1);
    assert_eq!(answer, fixed::BLACKHOLE);
}

#[test]
fn ports_come_and_go_without_waiting_for_who_changes_links() {
    if !needs::root("for network namespaces, eBPF") {
        return;
    }
    let bed = Bed::plan()
        .cable(side("r", "r0"), side("a", "e0"))
        .cable(side("r", "r1"), side("a", "e1"))
        .cable(side("r", "r2"), side("a", "e2"))
        .lay()
        .unwrap();
    let work = || {
        let gone = |name: &str| Change::PortGone {
            name: name.to_owned(),
            ifindex: port(name).ifindex,
        };
        let here = |name: &str| Change::Port(port(name));
        for kind in [
            EngineKind::Auto,
            EngineKind::Xdp,
            EngineKind::XdpKernelFib,
            EngineKind::Tc,
            EngineKind::AfPacket,
            EngineKind::AfXdp,
        ] {
            let names = ["r0".to_owned(), "r2".to_owned()];
            let engine = engine::open(
                kind,
                &names,
                Require::Any,
                SocketOptions::default(),
                Capacity::default(),
                true,
            );
            let engine = &mut *engine.unwrap();
            engine.apply(&[here("r0"), here("r2")]).unwrap();
            assert_eq!(attached(engine), ["r0", "r2"], "{kind:?}");
            let held = held::hold();
            let comes_back = [gone("r0"), here("r0")];
            let comes = [here("r1"), gone("r1"), here("r1")];
            engine.apply(&comes_back).unwrap();
            engine.apply(&comes).unwrap();
            for turn in 0..20 {
                engine.check().unwrap();
                if engine.keeps_table() {
                    follows(engine, turn);
                }
                assert_eq!(attached(engine), ["r2"], "{kind:?}");
            }
            held.release();
            let failed = wait_for(engine, |engine| attached(engine) == ["r0", "r1", "r2"]);
            assert!(!failed, "{kind:?}");
        }
    };
    bed.namespace("r").unwrap().enter(work).unwrap();
}

#[test]
fn a_queue_that_another_holds_delays_nobody() {
    if !needs::root("for network namespaces, eBPF") {
        return;
    }
    let bed = Bed::plan()
        .cable(side("r", "r0"), side("a", "e0"))
        .cable(side("r", "r1"), side("a", "e1"))
        .lay()
        .unwrap();
    let work = || {
        let options = Options {
            copying: Copying::Always,
            ..Options::default()
        };
        let (mut pool, mut memory) = (Pool::new(options.layout(1)).unwrap(), Memory::default());
        let another = XskPort::open("r1", 0, &mut pool, &mut memory, options).unwrap();
        let (names, kind) = (["r0".to_owned()], EngineKind::AfXdp);
        let engine = engine::open(
            kind,
            &names,
            Require::Any,
            SocketOptions::default(),
            Capacity::default(),
            true,
        );
        let engine = &mut *engine.unwrap();
        engine
            .apply(&[Change::Port(port("r0")), Change::Port(port("r1"))])
            .unwrap();
        // An engine tries for two seconds, and does all else meanwhile.
        let mut turns = 0;
        while engine.check().is_ok() {
            follows(engine, turns);
            assert_eq!(attached(engine), ["r0"]);
            turns += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(turns > 20, "{turns} turns in two seconds");
        wait_for(engine, |engine| !engine.failed_ports().is_empty());
        assert_eq!(engine.failed_ports()[0].0, "r1");
        drop((another, pool, memory));
        wait_for(engine, |engine| attached(engine) == ["r0", "r1"]);
    };
    bed.namespace("r").unwrap().enter(work).unwrap();
}
