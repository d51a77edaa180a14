use host::bed::{Bed, side};
use host::offload::Offload;

use super::*;

#[test]
fn a_veth_takes_frames_only_when_the_kernel_says_so() {
    if !needs::root("for network namespaces") {
        return;
    }
    let peer = side("veth", "p1").switch(Offload::GenericReceive, true);
    let bed = Bed::plan().cable(side("veth", "p0"), peer).lay().unwrap();
    let place = bed.namespace("veth").unwrap();
    let index = |name| place.interface_index(name).unwrap();
    let ask = |ifindex, family| place.enter(|| by_family(ifindex, family).unwrap()).unwrap();
    let said = |frames, several| Redirects { frames, several };
    assert_eq!(ask(index("p0"), FAMILY), said(true, true));
    assert_eq!(ask(index("p1"), FAMILY), said(false, false));
    let old = b"no-such\0";
    assert_eq!(ask(index("p0"), old), said(false, false), "an old kernel");
    assert_eq!(ask(index("lo"), old), said(true, false), "an old kernel");
}
