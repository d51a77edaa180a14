use super::*;

#[test]
fn details_are_told_only_when_asked_for() {
    assert!(!Level::Detail.is_told() && Level::Info.is_told() && Level::Error.is_told());
}

#[test]
fn values_that_would_be_misread_are_quoted() {
    assert_eq!(quoted("r0"), "r0");
    assert_eq!(quoted(""), "\"\"");
    assert_eq!(quoted("a b"), "\"a b\"");
    assert_eq!(quoted("a=\"b\"\n"), "\"a=\\\"b\\\"\\n\"");
}

#[test]
fn nobody_waits_for_a_reader_and_what_was_left_out_is_counted() {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let left_out = AtomicU64::new(0);
    for _ in 0..1000 {
        put(&mut writer, &left_out, "a".repeat(1000));
    }
    let before = left_out.load(Ordering::Relaxed);
    assert!((900..1000).contains(&before), "{before}");
    let mut read = vec![0; 1 << 16];
    std::io::Read::read(&mut reader, &mut read).unwrap();
    put(&mut writer, &left_out, "b".repeat(LONGEST * 2));
    put(&mut writer, &left_out, "c".to_owned());
    drop(writer);
    let rest = std::io::read_to_string(reader).unwrap();
    assert!(rest.ends_with("b\nc\n"), "cut to what a pipe takes at once");
    assert_eq!(left_out.load(Ordering::Relaxed), 0);
}
