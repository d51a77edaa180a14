//! Of `src/take_over/kept.rs`.

use super::*;

#[test]
fn a_name_says_whose_link_it_is() {
    assert_eq!(
        read("corelane.xdp-kernel-fib.7.native.link"),
        Some(("xdp-kernel-fib", 7, Mode::Native, LINK))
    );
    assert_eq!(
        read("corelane.tc.12.tc.only"),
        Some(("tc", 12, Mode::Tc, ONLY))
    );
    for name in [
        "",
        "stored",
        "corelane.xdp.7.native",
        "corelane.xdp.seven.native.link",
        "corelane.xdp.7.sideways.link",
        "corelane.xdp.7.native.map",
        "other.xdp.7.native.link",
    ] {
        assert_eq!(read(name), None, "{name}");
    }
}
