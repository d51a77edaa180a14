use super::*;

#[test]
fn frames_are_payload_and_headers() {
    assert_eq!(Load::Mix(&[64, 1518]).payloads(9000), [18, 1472]);
    assert_eq!(Load::Segments.payloads(1500), [1472]);
    let share = Load::Mix(&[64, 1518]).layer_2_share(1500).unwrap();
    assert!((share - 1582.0 / 1490.0).abs() < 1e-12);
    assert_eq!(Load::Tcp.layer_2_share(1500), None);
}
