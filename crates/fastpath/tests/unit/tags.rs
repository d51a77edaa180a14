use bpf::attach::Request;
use host::bed::{Bed, side};

use super::*;
use crate::forward::{Capacity, Forwarder, Lookup};

#[test]
fn the_programs_that_ship_are_bound_to_a_driver_that_tells() {
    if !needs::root("for network namespaces, eBPF") {
        return;
    }
    let bed = Bed::plan()
        .cable(side("r", "r0"), side("a", "e0"))
        .lay()
        .unwrap();
    let work = || {
        let capacity = Capacity::default;
        for mut forwarder in [
            Forwarder::new(Lookup::Own, capacity()).unwrap(),
            Forwarder::for_workers(capacity(), 1, 1792, false).unwrap(),
            Forwarder::for_workers(capacity(), 1, 14_336, true).unwrap(),
        ] {
            let ifindex = forwarder.attach("r0", Request::Native).unwrap().ifindex();
            let teller = forwarder.ports[0].as_ref().unwrap().teller;
            let tells = features::tells_tags(ifindex).unwrap();
            assert_eq!(matches!(teller, Teller::Driver { .. }), tells);
        }
    };
    bed.namespace("r").unwrap().enter(work).unwrap();
}
