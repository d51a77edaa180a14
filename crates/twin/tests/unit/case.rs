use super::*;

#[test]
fn a_case_is_the_same_after_it_was_written_and_read() {
    let case = Case {
        about: vec!["why".to_owned()],
        commands: vec!["ip addr add 10.0.0.1/24 dev r0".to_owned()],
        frames: vec![vec![0, 0x1f, 0xff]],
    };
    assert_eq!(Case::parse(&case.to_string()), Ok(case));
    for wrong in ["rm -rf /", "frame 0", "frame xy", "frame"] {
        assert!(Case::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_number_is_found_anywhere() {
    let frame = [&[1, 2, 3][..], b"twtw", &marker(0x1234)[..]].concat();
    assert_eq!(number(&frame), Some(0x1234));
    assert_eq!(number(&frame[..14]), None);
    assert_eq!(number(b"tw"), None);
}
