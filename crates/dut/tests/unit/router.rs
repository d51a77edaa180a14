use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::case::SMALLEST;
use crate::routes;

/// This process's programs at tracepoints of the kernel, as its descriptors say.
fn at_tracepoints() -> usize {
    let descriptors = fs::read_dir("/proc/self/fdinfo").unwrap();
    let what = descriptors.map(|descriptor| fs::read_to_string(descriptor.unwrap().path()));
    // One may have been closed meanwhile.
    let these = what.filter_map(Result::ok);
    these.filter(|what| what.contains("xdp_devmap")).count()
}

#[test]
fn only_the_router_that_is_measured_has_programs_at_tracepoints() {
    if !needs::root("for network namespaces and eBPF") {
        return;
    }
    let _cores = needs::cores();
    let cores = host::allowed_cores().unwrap();
    let routes = Arc::new(routes::of_benchmarks(64, 1).unwrap());
    let setting = Setting::new(&cores[..1], &routes, 1);
    let [mut one, mut other] = [(); 2].map(|()| {
        let opened = Opened::new(EngineKind::Xdp, &setting, 0..1);
        opened.unwrap()
    });
    assert_eq!(at_tracepoints(), 0, "while both wait");
    let each = one.listening(|_| Ok(at_tracepoints())).unwrap();
    assert!(each > 0, "while one is measured");
    let both = other.listening(|_| one.listening(|_| Ok(at_tracepoints())));
    assert_eq!(both.unwrap(), 2 * each);
    assert_eq!(at_tracepoints(), 0, "while both wait again");

    let mut device = open(EngineKind::Xdp, &setting).unwrap();
    let case = Case {
        kind: Kind::Router(EngineKind::Xdp),
        first: 0,
        workers: 1,
        frame_bytes: SMALLEST,
        changes: 0,
    };
    let sample = device.measure(&case, Duration::from_millis(20)).unwrap();
    assert!(sample.frames_per_second > 0.0);
    assert_eq!(at_tracepoints(), 0, "after a measurement");
}
