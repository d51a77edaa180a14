use super::*;

#[test]
fn a_switch_is_read_where_the_format_file_says() {
    let text = "ID: 372\n\tfield:long \
                prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\tfield:pid_t \
                next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";
    let layout = Layout::parse(text).expect("a format file");
    let decoder = Decoder::new(&CATALOGUE[0], &layout).expect("both fields are there");
    let mut raw = vec![0_u8; 64];
    raw[32] = 1;
    raw[56..60].copy_from_slice(&4711_u32.to_le_bytes());
    assert_eq!(
        decoder.kind(&raw, 0),
        Kind::Switch {
            left: Left::Sleeping,
            next: 4711
        }
    );
    let without_next =
        Layout::parse("ID: 372\n\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n");
    assert!(Decoder::new(&CATALOGUE[0], &without_next.expect("a format file")).is_none());
}
