use super::*;

#[test]
fn the_truth_is_amdahls_where_the_parts_divide_evenly() {
    for cores in [2, 3, 4, 6, 12] {
        assert!((fraction(cores) - LINK).abs() < 1e-12, "{cores}");
    }
    assert!(
        fraction(5) > LINK,
        "three rounds of five, the last not full"
    );
    assert!(fraction(1).abs() < 1e-12);
}

#[test]
fn the_rules_name_every_part_and_the_link_waits_for_them() {
    let directory = host::temporary::Directory::new("rules").unwrap();
    write(directory.path(), "/a b/it's $here").unwrap();
    let text = fs::read_to_string(directory.path().join("Makefile")).unwrap();
    assert!(text.contains("link: part0 part1 ") && text.contains(" part11\n"));
    assert!(text.contains("\t@'/a b/it'\\''s $$here' scale calibrate --load link\n"));
    assert_eq!(Piece::find("link"), Some(Piece::Link));
    assert_eq!(Piece::find("nothing"), None);
}
