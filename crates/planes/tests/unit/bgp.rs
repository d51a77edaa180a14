use super::*;

#[test]
fn messages_are_those_of_the_rfc() {
    let keepalive = message(KEEPALIVE, &[]);
    assert_eq!(keepalive.len(), 19);
    assert_eq!(keepalive[16..], [0, 19, 4]);
    let networks = [
        (Ipv4Addr::new(100, 64, 5, 0), 24),
        (Ipv4Addr::new(10, 0, 0, 0), 8),
    ];
    let body = update(64_513, Ipv4Addr::new(198, 18, 1, 2), &networks);
    assert_eq!(
        body,
        [
            0, 0, 0, 18, // nothing withdrawn, 18 bytes of attributes
            0x40, 1, 1, 0, 0x40, 2, 4, 2, 1, 0xfc, 0x01, 0x40, 3, 4, 198, 18, 1, 2, //
            24, 100, 64, 5, 8, 10
        ]
    );
}
