use transfer::Load;

use super::*;

const TCP: Transfer = Transfer {
    load: Load::Tcp,
    flows: 1,
};

fn sample(kind: Kind, offloads: Offloads) -> Sample {
    let cores = host::allowed_cores().unwrap();
    let mut device = BetweenHosts::open(kind, 1500, offloads, &cores).unwrap();
    let (warm_up, duration) = (Duration::from_millis(50), Duration::from_millis(100));
    device.carry(TCP, warm_up, duration).unwrap()
}

#[test]
fn the_engine_forwards_what_is_finished_and_the_kernel_what_is_not() {
    if !needs::root("for network namespaces and eBPF") {
        return;
    }
    let _cores = needs::cores();
    let linux = sample(Kind::Kernel, Offloads::On);
    assert!(linux.carried.payload_bits_per_second > 0.0 && linux.by_engine.is_none());
    let xdp = Kind::Router(EngineKind::Xdp);
    let finished = sample(xdp, Offloads::Off);
    assert!(finished.by_engine > Some(0.9), "{finished:?}");
    let unfinished = sample(xdp, Offloads::On);
    assert!(unfinished.by_engine < Some(0.1), "{unfinished:?}");
    assert!(unfinished.carried.payload_bits_per_second > 0.0);
}
