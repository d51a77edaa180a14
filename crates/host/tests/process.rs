//! Processes that we start end with us.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use host::process::{Group, Signal, end_with_thread, is_alive, owner, signal};
use host::tasks::{child_of, descendants};

/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(10);

#[test]
fn we_live_and_nobody_has_the_highest_id() {
    assert!(is_alive(std::process::id()));
    assert!(!is_alive(u32::MAX));
}

#[test]
fn a_group_has_its_children_and_ends_when_dropped() {
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 30 & wait"]);
    let mut group = Group::start(end_with_thread(&mut command)).unwrap();
    let leader = group.leader.id();
    let deadline = Instant::now() + Duration::from_secs(10);
    let sleeper = loop {
        assert!(Instant::now() < deadline, "no child");
        if let Some(child) = child_of(leader) {
            break child;
        }
        thread::sleep(LOOK);
    };
    assert_eq!(descendants(leader), [leader, sleeper]);
    assert!(group.wait(Duration::from_millis(20)).is_none());
    drop(group);
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_alive(sleeper) && Instant::now() < deadline {
        thread::sleep(LOOK);
    }
    assert!(!is_alive(leader) && !is_alive(sleeper));
}

#[test]
fn a_child_that_ends_says_how() {
    let mut group = Group::start(Command::new("sh").args(["-c", "exit 3"])).unwrap();
    let status = group.wait(Duration::from_secs(10)).unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(signal(u32::MAX, Signal::TERM).is_err());
}

#[test]
fn owners_are_read_from_names() {
    assert_eq!(owner("cl-12-dut", "cl-"), Some(12));
    assert_eq!(owner("cl-x-dut", "cl-"), None);
    assert_eq!(owner("other-12-dut", "cl-"), None);
}
