//! Prefixes as text, and what they contain.

use fib::prefix::PrefixError;
use fib::{IpPrefix, Prefix};

#[test]
fn text_round_trips() {
    for text in [
        "0.0.0.0/0",
        "10.0.0.0/8",
        "192.0.2.1/32",
        "::/0",
        "2001:db8::/32",
        "::1/128",
    ] {
        assert_eq!(text.parse::<IpPrefix>().unwrap().to_string(), text);
    }
}

#[test]
fn bad_text_is_refused_with_the_reason() {
    for text in [
        "",
        "10.0.0.0",
        "10.0.0.0/",
        "10.0.0/8",
        "x/8",
        "10.0.0.0/+8",
        "10.0.0.0/8/8",
        "::/999",
    ] {
        assert!(
            matches!(
                text.parse::<IpPrefix>(),
                Err(PrefixError::NotAPrefix { .. })
            ),
            "{text}"
        );
    }
    assert!(matches!(
        "10.0.0.0/33".parse::<IpPrefix>(),
        Err(PrefixError::TooLong { width: 32, .. })
    ));
    assert!(matches!(
        "::/129".parse::<IpPrefix>(),
        Err(PrefixError::TooLong { width: 128, .. })
    ));
    let error = "10.0.0.1/8".parse::<IpPrefix>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "10.0.0.1/8 has bits set after its length; the prefix is 10.0.0.0/8"
    );
}

#[test]
fn a_prefix_contains_its_first_and_last_address_only_up_to_there() {
    let prefix = Prefix::<u32>::containing(0xC000_02FF, 24);
    assert_eq!(
        (prefix.address(), prefix.last()),
        (0xC000_0200, 0xC000_02FF)
    );
    assert!(prefix.contains(prefix.address()) && prefix.contains(prefix.last()));
    assert!(!prefix.contains(0xC000_0300) && !prefix.contains(0xC000_01FF));
    assert!(Prefix::<u128>::everything().contains(u128::MAX));
}
