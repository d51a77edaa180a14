//! Switches of interfaces.

use host::bed::{Bed, side};
use host::offload::{Offload, is_on, join_segments, receiving};

#[test]
fn a_veth_can_be_switched_and_a_missing_interface_is_named() {
    if !needs::root("to make network namespaces") {
        return;
    }
    let plan = Bed::plan().cable(side("offload", "a0"), side("offload", "b0"));
    let bed = plan.lay().unwrap();
    let one = bed.namespace("offload").unwrap();
    for offload in [
        Offload::GenericReceive,
        Offload::TcpSegments,
        Offload::GenericSegments,
        Offload::Checksums,
    ] {
        for on in [false, true] {
            one.switch("a0", offload, on).unwrap();
            let found = one.enter(|| is_on("a0", offload)).unwrap().unwrap();
            assert_eq!(found, on, "{offload:?}");
        }
    }
    one.enter(|| {
        assert!(!receiving("a0").unwrap().joins_segments);
        assert!(receiving("zz").is_err());
        join_segments("a0", false).unwrap();
        assert!(join_segments("a0", true).is_err(), "a veth joins nothing");
    })
    .unwrap();
    let missing = one.switch("zz", Offload::GenericReceive, true).unwrap_err();
    assert!(missing.to_string().contains("zz"));
}
