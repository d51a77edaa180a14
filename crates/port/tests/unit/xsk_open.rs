//! Of `port/src/xsk/open.rs`.

use super::*;

#[test]
fn zero_copy_comes_before_several_buffers() {
    for scattered in [false, true] {
        let any = attempts(Copying::Any, scattered);
        let copies = any.last().unwrap();
        assert!(!copies.contains(Flags::XDP_ZEROCOPY));
        assert_eq!(copies.contains(Flags::XDP_USE_SG), scattered);
        let never = attempts(Copying::Never, scattered);
        assert!(
            never
                .iter()
                .all(|flags| flags.contains(Flags::XDP_ZEROCOPY))
        );
        assert_eq!(never.last(), Some(&Flags::XDP_ZEROCOPY));
        assert!(any.starts_with(&never) || !scattered);
    }
}
