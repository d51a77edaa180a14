use bpf::attach::Request;
use host::bed::{Bed, side};

use super::*;
use crate::forward::{Capacity, Forwarder, Lookup, Place};

#[test]
fn programs_on_a_veth_look_ahead_where_the_kernel_lets_them() {
    if !needs::root("for network namespaces, eBPF") {
        return;
    }
    let types = Btf::read(Path::new("/sys/kernel/btf/vmlinux"));
    if types.as_ref().and_then(Ahead::of).is_none() {
        needs::skipped!("this kernel does not describe what waits at a veth");
        return;
    }
    let bed = Bed::plan()
        .cable(side("r", "r0"), side("a", "e0"))
        .lay()
        .unwrap();
    let work = || {
        for (lookup, place, looks) in [
            (Lookup::Own, Place::Xdp(Request::Native), true),
            (Lookup::Own, Place::Xdp(Request::Generic), false),
            (Lookup::Own, Place::Tc, false),
            (Lookup::Kernel, Place::Xdp(Request::Native), false),
        ] {
            let mut forwarder = Forwarder::new(lookup, Capacity::default()).unwrap();
            forwarder.attach("r0", place).unwrap();
            let port = forwarder.ports[0].as_ref().unwrap();
            assert_eq!(port.ahead.is_some(), looks, "{lookup:?}, {place}");
        }
    };
    bed.namespace("r").unwrap().enter(work).unwrap();
}
