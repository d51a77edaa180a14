use super::*;

#[test]
fn a_picture_fits_and_has_colour_only_when_allowed() {
    let text = "port  state\n----  -----\nr0    forwarding\nr1    forwarding\n";
    let plain = frame(text, (8, 4), false);
    assert_eq!(
        plain,
        "\x1b[Hport  st\x1b[K\r\n----  --\x1b[K\r\nr0    fo\x1b[K\r\n\x1b[J"
    );
    assert!(frame(text, (80, 24), true).contains("\x1b[1mport  state\x1b[0m"));
    assert!(frame("DIFFERENT", (80, 24), true).contains("\x1b[31m"));
}
