use super::*;

#[test]
fn no_record_is_lost_and_a_full_ring_refuses() {
    let cores = host::cores::allowed_cores().unwrap();
    let seen = measure(
        cores[0],
        cores[cores.len() - 1],
        false,
        Duration::from_millis(30),
    );
    assert!(seen.records > 0 && seen.lost == 0, "{seen:?}");
    let ring = Ring::new();
    for n in 0..RECORDS {
        assert_eq!(ring.put(&[n; RECORD]), Some(n + 1));
    }
    assert_eq!(ring.put(&[0; RECORD]), None);
    assert_eq!(ring.take(), Some([0; RECORD]));
    assert!(ring.put(&[0; RECORD]).is_some());
}

#[test]
fn a_ring_that_no_record_waited_for_is_not_called_full() {
    let seen = |fullest, waits| Seen {
        fullest,
        waits,
        ..Seen::default()
    };
    let said = told(&seen(RECORDS, 2476), &seen(5280, 0));
    assert!(said.contains("never fills, at most 330 KiB"), "{said}");
    assert!(said.contains("on one core it fills"), "{said}");
    let said = told(&seen(RECORDS, 2476), &seen(RECORDS, 7));
    assert!(said.contains("too the ring fills here, 7 times"), "{said}");
}
