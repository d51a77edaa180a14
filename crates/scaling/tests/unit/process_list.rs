use super::*;

#[test]
fn this_process_is_listed_with_its_parent() {
    let (own, parent) = (std::process::id(), std::os::unix::process::parent_id());
    let mut found = None;
    for_each_process(|pid, its_parent| {
        if pid.as_raw_pid().unsigned_abs() == own {
            found = Some(its_parent.as_raw_pid().unsigned_abs());
        }
    });
    assert_eq!(found, Some(parent));
}

#[test]
fn a_name_with_brackets_does_not_hide_the_parent() {
    assert_eq!(
        parent_in_stat(b"12 (a) S 9 (b)) R 345 1 1"),
        Pid::from_raw(345)
    );
    assert_eq!(parent_in_stat(b"12"), None);
}
