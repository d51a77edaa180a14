use super::*;

#[test]
fn kernel_states_keep_their_meaning() {
    assert_eq!(Left::from_kernel(0), Left::Runnable);
    assert_eq!(Left::from_kernel(0x100), Left::Preempted);
    assert_eq!(Left::from_kernel(1), Left::Sleeping);
    assert_eq!(Left::from_kernel(2), Left::Uninterruptible);
    assert_eq!(Left::from_kernel(0x80), Left::Idle);
    for code in 0..8 {
        assert_eq!(Left::from_code(code).map(|l| l as u8), Some(code));
    }
    assert_eq!(Left::from_code(8), None);
}

#[test]
fn rust_mutexes_wait_with_a_bitset_and_count_as_waiting() {
    let private_realtime_bitset = 9 | 128 | 256;
    assert_eq!(
        Operation::from_kernel(private_realtime_bitset),
        Operation::WaitBitset
    );
    assert!(Operation::WaitBitset.waits());
}

#[test]
fn an_event_is_small() {
    assert!(std::mem::size_of::<Event>() <= 40);
}
