//! How an interface is divided among cores.

use host::bed::{Bed, side};
use host::card::{self, Queues};

#[test]
fn a_veth_has_queues_and_nothing_else_to_divide() {
    if !needs::root("to make network namespaces") {
        return;
    }
    let plan = Bed::plan()
        .queues(3)
        .cable(side("card", "a0"), side("card", "b0"));
    let bed = plan.lay().unwrap();
    let unsupported = Some(libc::EOPNOTSUPP);
    bed.namespace("card")
        .unwrap()
        .enter(|| {
            let most = Queues {
                receive: 3,
                send: 3,
                combined: 0,
            };
            assert_eq!(card::queues("a0").unwrap(), (most, most));
            let fewer = Queues { receive: 2, ..most };
            card::set_queues("a0", fewer).unwrap();
            assert_eq!(card::queues("a0").unwrap(), (fewer, most));
            assert_eq!(card::receive_queues("a0").unwrap(), 2);
            let many = Queues { receive: 9, ..most };
            assert!(card::set_queues("a0", many).is_err());
            let rings = card::rings("a0").unwrap_err();
            assert_eq!(rings.raw_os_error(), unsupported);
            let coalescing = card::coalescing("a0").unwrap_err();
            assert_eq!(coalescing.raw_os_error(), unsupported);
            let spreading = card::spreading("a0").unwrap_err();
            assert_eq!(spreading.raw_os_error(), unsupported);
            let missing = card::receive_queues("zz").unwrap_err();
            assert_eq!(missing.raw_os_error(), Some(libc::ENODEV));
        })
        .unwrap();
}
