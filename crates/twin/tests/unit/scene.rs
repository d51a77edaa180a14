use super::*;

#[test]
fn prefixes_addresses_and_sizes_are_found() {
    let scene = Scene::of(&[
        "ip route add 10.9.0.0/16 via fd00::2 mtu 1400".to_owned(),
        "sysctl net.ipv6.conf.r0.mtu=1300".to_owned(),
    ]);
    assert_eq!(scene.v4, [(0x0a09_0000, 16)]);
    assert_eq!(scene.v6, [(0xfd00 << 112 | 2, 128)]);
    assert_eq!(scene.sizes, [1500, 1400, 1300]);
    let mut dice = Dice::new(1);
    let mut inside = (0..1000).filter(|_| scene.v4(&mut dice) >> 16 == 0x0a09);
    assert!(inside.by_ref().count() > 500);
}
