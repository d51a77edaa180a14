use super::*;

#[test]
fn loopback_carries_no_default_route() {
    assert!(!carries_default_route("lo"));
}
