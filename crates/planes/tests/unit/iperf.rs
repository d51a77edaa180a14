use super::*;

#[test]
fn an_answer_is_a_sum_or_an_error() {
    let tcp = br#"{"start":{},"end":{"sum_received":{"bits_per_second":1.5e9,"bytes":1}}}"#;
    let seen = parse(tcp).unwrap();
    assert_eq!((seen.bits_per_second, seen.loss), (1.5e9, None));
    let udp = br#"{"end":{"sum":{"bits_per_second":1e9,"jitter_ms":0.002,"lost_percent":10}}}"#;
    let seen = parse(udp).unwrap();
    assert!((seen.bits_per_second - 9e8).abs() < 1.0);
    assert_eq!(seen.loss, Some(0.1));
    assert!((seen.jitter_ns.unwrap() - 2_000.0).abs() < 1e-6);
    let bad = br#"{"error":"unable to connect to server","end":{}}"#;
    assert!(parse(bad).unwrap_err().to_string().contains("unable"));
    let nothing = br#"{"end":{"sum_received":{"bits_per_second":0}}}"#;
    assert!(parse(nothing).unwrap_err().to_string().contains("nothing"));
    assert!(parse(b"").is_err());
}
