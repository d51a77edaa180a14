//! Files of prefixes, right and wrong ones.

use std::io::Read;

use fib::prefix_file::read;

fn error_of(text: &[u8]) -> String {
    read(text, "routes.txt").unwrap_err().to_string()
}

#[test]
fn reads_both_families_and_skips_comments() {
    let prefixes = read(
        &b"# a table\n10.0.0.0/8\r\n\n 2001:db8::/32 \n192.0.2.0/24"[..],
        "x",
    )
    .unwrap();
    assert_eq!((prefixes.v4.len(), prefixes.v6.len()), (2, 1));
    assert_eq!(prefixes.v4[1].to_string(), "192.0.2.0/24");
}

#[test]
fn a_long_comment_is_still_a_comment() {
    let text = format!("#{}\n10.0.0.0/8\n", "x".repeat(1000));
    assert_eq!(read(text.as_bytes(), "x").unwrap().v4.len(), 1);
}

#[test]
fn the_first_bad_line_is_named_by_file_line_and_reason() {
    assert_eq!(
        error_of(b"10.0.0.0/8\n10.0.0.0/40\n"),
        "routes.txt:2: prefix length 40 is longer than the 32 bits of 10.0.0.0"
    );
    assert!(error_of(b"\n\nhello\n").starts_with("routes.txt:3: \"hello\" is not a prefix"));
    assert!(error_of(b"10.0.0.0/8\n\xff\xfe\n").contains("routes.txt:2: the line is not UTF-8"));
    assert!(
        error_of("7".repeat(5000).as_bytes()).contains("routes.txt:1: the line is longer than")
    );
    assert!(error_of(b"10.1.2.3/8").contains("the prefix is 10.0.0.0/8"));
}

#[test]
fn a_failing_reader_is_reported_with_the_line_reached() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk gone"))
        }
    }
    let input = (&b"10.0.0.0/8\n"[..]).chain(Fails);
    assert_eq!(
        read(input, "f").unwrap_err().to_string(),
        "f:2: reading failed: disk gone"
    );
}
