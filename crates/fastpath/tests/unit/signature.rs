use super::*;

#[test]
fn what_is_written_is_read() {
    let signature = Signature {
        stream: 0x1234,
        sequence: 0x8765_4321,
        sent_ns: 0x0123_4567_89ab_cdef,
    };
    let mut frame = [0xff; 60];
    assert_eq!(Signature::read(&frame), None);
    assert!(signature.write(&mut frame));
    assert_eq!(Signature::read(&frame), Some(signature));
    assert_eq!(
        frame[..60 - SIGNATURE_LENGTH],
        [0xff; 60 - SIGNATURE_LENGTH]
    );
    assert!(!signature.write(&mut frame[..SIGNATURE_LENGTH - 1]));
}
