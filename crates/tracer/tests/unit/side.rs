use super::*;

#[test]
fn a_fork_and_a_name() {
    let mut fork = Vec::new();
    for word in [10_u32, 9, 11, 9] {
        fork.extend_from_slice(&word.to_le_bytes());
    }
    fork.extend_from_slice(&5_u64.to_le_bytes());
    fork.extend_from_slice(&77_u64.to_le_bytes());
    let change = news(PERF_RECORD_FORK, &fork).expect("a fork");
    assert_eq!((change.tid, change.process, change.time), (11, 10, 77));
    assert_eq!(change.what, TaskNews::Forked { parent: 9 });

    let mut name = 10_u32.to_le_bytes().to_vec();
    name.extend_from_slice(&11_u32.to_le_bytes());
    name.extend_from_slice(b"worker\0\0");
    name.extend_from_slice(&78_u64.to_le_bytes());
    let change = news(PERF_RECORD_COMM, &name).expect("a name");
    assert_eq!(change.what, TaskNews::Named("worker".to_owned()));
    assert!(news(PERF_RECORD_FORK, &[1, 2, 3]).is_none());
}
