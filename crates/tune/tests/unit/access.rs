use super::*;

#[test]
fn masks_and_lists_are_the_same_cores() {
    let cores = [CoreId(0), CoreId(33), CoreId(63)];
    assert_eq!(mask_of_cores(&cores), "80000002,00000001");
    assert_eq!(cores_of_mask("80000002,00000001").unwrap(), cores);
    assert_eq!(cores_of_mask("3").unwrap(), [CoreId(0), CoreId(1)]);
    assert_eq!(mask_of_cores(&[]), "00000000");
    assert!(cores_of_mask("x").is_err());
}

#[test]
fn values_are_read_as_they_are_written() {
    let queues = Queues {
        receive: 1,
        send: 2,
        combined: 3,
    };
    let text = queues_text(queues);
    let found = ["rx", "tx", "combined"].map(|word| number_after(&text, word).unwrap());
    assert_eq!(found, [1, 2, 3]);
    assert!(number_after("rx", "rx").is_err());
    assert_eq!(bytes_of(&key_text(&[0x6d, 0x5a])).unwrap(), [0x6d, 0x5a]);
    assert!(bytes_of("6").is_err());
    assert_eq!(table_text(&[0, 1, 0, 1]), "equal 2");
    assert_eq!(table_text(&[0, 0, 1, 1]), "0 0 1 1");
}
