//! `AF_XDP` sockets that cannot be opened.

use port::Pool;
use port::xsk::{Memory, Options, XskPort};

#[test]
fn a_queue_that_cannot_be_had_costs_no_buffers() {
    if !needs::root("to open AF_XDP sockets") {
        return;
    }
    let options = Options::default();
    let mut pool = Pool::new(options.layout(1)).unwrap();
    let before = pool.available();
    for _ in 0..3 {
        // The loopback interface has one queue. One that is taken is refused at the same place.
        let opened = XskPort::open("lo", 63, &mut pool, &mut Memory::default(), options);
        let error = opened.unwrap_err().to_string();
        assert!(error.contains("bind to the queue"), "{error}");
        assert_eq!(pool.available(), before);
    }
}
