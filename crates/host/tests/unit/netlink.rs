use super::*;

#[test]
fn a_refusal_that_nobody_waited_for_does_not_end_the_next_dump() {
    let mut socket = Socket::open(ROUTE, &[]).unwrap();
    let interface_0 = [0; 12];
    socket.request(libc::RTM_NEWNEIGH, 0, &interface_0).unwrap();
    socket.wait(Duration::from_secs(1));
    let mut links = 0;
    let dumped = socket.dump(libc::RTM_GETLINK, &[0; 16], |_| links += 1);
    assert_eq!(dumped.unwrap(), Dumped::Whole);
    assert!(links > 0, "every network namespace has lo");
}
