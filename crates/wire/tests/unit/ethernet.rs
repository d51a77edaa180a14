use super::*;

#[test]
fn addresses_are_written_and_read() {
    let text = "02:00:5e:00:53:ff";
    let mac: MacAddress = text.parse().expect("an address");
    assert_eq!(mac.to_string(), text);
    assert_eq!(mac.as_bits(), 0xff53_005e_0002);
    for bad in [
        "",
        "02:00:5e:00:53",
        "02:00:5e:00:53:ff:00",
        "02:00:5e:00:53:fg",
        "+2:00:5e:00:53:ff",
        "002:0:0:0:0:0",
    ] {
        assert!(bad.parse::<MacAddress>().is_err(), "{bad:?}");
    }
}

#[test]
fn a_short_frame_has_no_header() {
    assert!(Header::split(&[0; 13]).is_none());
    assert!(!write(
        &mut [0; 13],
        MacAddress::default(),
        MacAddress::default(),
        TYPE_IPV4
    ));
}
