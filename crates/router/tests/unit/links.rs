//! Of `router/src/samples/links.rs`.

use host::netlink::{ROUTE, Socket, append};

use super::*;

#[test]
fn what_is_cut_off_has_no_counters_and_does_no_harm() {
    let mut message = vec![0; LINK];
    message[INDEX] = 7;
    append(&mut message, libc::IFLA_IFNAME, b"r0\0");
    let words: Vec<u8> = (1..=10_u64).flat_map(u64::to_ne_bytes).collect();
    append(&mut message, libc::IFLA_STATS64, &words);
    let whole = read(&message);
    assert_eq!((whole.index, whole.name.as_str()), (7, "r0"));
    assert_eq!(whole.statistics[2..4], [3, 4]);
    for end in 0..message.len() {
        let _nothing_breaks = read(&message[..end]);
    }
}

#[test]
fn every_interface_has_counters_and_no_other() {
    let mut socket = Socket::open(ROUTE, &[]).unwrap();
    let lo = counters(&mut socket, 1).unwrap();
    assert_eq!((lo.index, lo.name.as_str()), (1, "lo"));
    let mut xdr = Xdr::default();
    lo.write(&mut xdr);
    assert_eq!(xdr.len(), 88, "the bytes of if_counters");
    assert!(counters(&mut socket, 0x7fff_fff0).is_err());
}
