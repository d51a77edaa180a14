//! Programs without a step: each forwards what that step would have kept from it.

use std::process::Command;
use std::time::Duration;

use bpf::attach::Request;
use bpf::program::Program;
use fastpath::forward::{Accepts, Capacity, Place, PortSettings, ReversePath};
use fib::NextHop;
use host::temporary::Directory;

use super::bench::{Bench, REDIRECT, adjacency, frame, frame_short, settings, with_ipv4};
use crate::common::in_namespace;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/build.sh");

/// Asked by nobody of tags, because what asks a driver cannot be run by hand.
fn bench() -> Bench {
    let mut bench = Bench::at(Place::Xdp(Request::Generic), Capacity::default());
    // The one that programs without a search give.
    let only = adjacency(bench.r1, 0);
    bench.forwarder.set_next_hop(NextHop(1), only).unwrap();
    bench
}

/// The program that is compiled with a flag.
fn variant(bench: &Bench, flag: &str) -> Program {
    let objects = Directory::new("variant").unwrap();
    let object = objects.path().join("ablation.o");
    let mut compile = Command::new(SOURCES);
    compile.args(["--one", "ablation.c"]).arg(&object).arg(flag);
    assert!(compile.status().unwrap().success(), "{flag}");
    let object = std::fs::read(&object).unwrap();
    bench.forwarder.variant(bench.r0, &object).unwrap()
}

#[test]
fn a_program_without_a_step_forwards_what_the_step_keeps() {
    if !needs::program("clang") || !needs::program("llvm-strip") {
        return;
    }
    in_namespace(|| {
        let bench = bench();
        let plain = frame_short();
        let mut broken = plain.clone();
        broken[24] ^= 1;
        let tunnel = with_ipv4(plain.clone(), |ip| ip[9] = 47);
        for (flag, frame) in [
            ("-DWITHOUT_CHECKS", broken),
            ("-DWITHOUT_SUMS", tunnel),
            ("-DWITHOUT_SEARCH", frame("192.0.2.1", 60, None)),
            ("-DWITHOUT_SEARCH", frame("2001:db8:99::1", 80, None)),
            ("-DWITHOUT_NEXT_HOP", frame("203.0.113.4", 60, None)),
        ] {
            assert_ne!(bench.run(&frame).0, REDIRECT, "{flag}: shipped");
            let result = variant(&bench, flag).run(&frame, 0, 1).unwrap();
            assert_eq!(result.verdict, REDIRECT, "{flag}");
        }

        let bare = variant(&bench, "-DBARE");
        assert_eq!(bare.run(&[0; 60], 0, 1).unwrap().verdict, REDIRECT);

        let received = || -> u64 {
            let counters = bench.forwarder.port_counters();
            counters.values().map(|port| port.received).sum()
        };
        // The kernel sends some frames of its own meanwhile.
        let before = received();
        let silent = variant(&bench, "-DWITHOUT_COUNTERS");
        for _ in 0..30 {
            assert_eq!(silent.run(&plain, 0, 1).unwrap().verdict, REDIRECT);
        }
        assert!(received() < before + 30);
        let unchanged = variant(&bench, "-DWITHOUT_REWRITE");
        let result = unchanged.run(&plain, 0, 1).unwrap();
        assert_eq!((result.verdict, &result.frame), (REDIRECT, &plain));
    });
}

#[test]
fn a_program_without_a_step_forwards_in_spite_of_a_setting() {
    if !needs::program("clang") || !needs::program("llvm-strip") {
        return;
    }
    in_namespace(|| {
        let mut bench = bench();
        let plain = frame_short();
        let strict = PortSettings {
            accepts: Accepts {
                reverse_path: ReversePath::Strict,
                ..Accepts::default()
            },
            ..settings()
        };
        bench.forwarder.set_port(bench.r0, &strict).unwrap();
        bench.leaves(&plain, "unverified-source");
        let result = variant(&bench, "-DWITHOUT_SOURCES").run(&plain, 0, 1);
        assert_eq!(result.unwrap().verdict, REDIRECT);

        bench.forwarder.set_port(bench.r0, &settings()).unwrap();
        bench.forwarder.vouch(Some(Duration::ZERO)).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        bench.leaves(&plain, "stale");
        let result = variant(&bench, "-DWITHOUT_VOUCHED").run(&plain, 0, 1);
        assert_eq!(result.unwrap().verdict, REDIRECT);
    });
}
