//! Of `router/src/samples/xdr.rs`.

use super::Xdr;

#[test]
fn everything_is_padded_to_four_bytes_and_says_its_length() {
    let mut xdr = Xdr::default();
    xdr.number(7);
    xdr.long(1 << 32);
    xdr.opaque(&[1, 2, 3, 4, 5]);
    assert_eq!(
        xdr.bytes(),
        [
            0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0
        ]
    );
    let mut outer = Xdr::default();
    outer.structure(9, |inner| inner.opaque(&[1]));
    assert_eq!(
        outer.bytes(),
        [0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0]
    );
}

#[test]
fn an_address_says_its_family() {
    let written = |address: Option<&str>| {
        let mut xdr = Xdr::default();
        xdr.address(address.map(|address| address.parse().unwrap()));
        xdr.bytes().to_vec()
    };
    assert_eq!(written(None), [0, 0, 0, 0]);
    assert_eq!(written(Some("192.0.2.1")), [0, 0, 0, 1, 192, 0, 2, 1]);
    let v6 = written(Some("2001:db8::1"));
    assert_eq!((v6.len(), &v6[..6]), (20, &[0, 0, 0, 2, 0x20, 1][..]));
}
