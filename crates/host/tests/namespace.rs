//! Namespaces are apart, and go away.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use host::namespace::{OnFailure, existing};
use host::{Namespace, process};

fn root() -> bool {
    needs::root("to make network namespaces")
}

#[test]
fn without_root_the_error_says_so() {
    if !process::is_root() {
        let error = Namespace::new("x").unwrap_err().to_string();
        assert!(error.contains("sudo"), "{error}");
    }
}

#[test]
fn leftovers_of_the_dead_are_swept_and_those_of_the_living_stay() {
    if !root() {
        return;
    }
    let dead = format!("cl-{}-leftover", u32::MAX);
    // Other tests sweep too, even while this is being made.
    let add = || {
        let added = Command::new("ip").args(["netns", "add", &dead]).status();
        added.unwrap().success()
    };
    assert!((0..10).any(|_| add()));
    let living = Namespace::new("living").unwrap();
    // Another test program may be at it, which is as good, and may not have ended.
    let end = Instant::now() + Duration::from_secs(30);
    while existing().contains(&dead) {
        assert!(Instant::now() < end, "{dead} stays");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(existing().contains(&living.name().to_owned()));
}

#[test]
fn names_may_be_used_twice_and_a_line_that_fails_is_named() {
    if !root() {
        return;
    }
    let [one, two] = [(); 2].map(|()| Namespace::new("twice").unwrap());
    assert_eq!(two.name(), format!("{}-2", one.name()));
    let lines = "link show lo\nlink show nothing\nlink set lo down\n";
    let error = one.batch(lines, OnFailure::Stop).unwrap_err().to_string();
    assert!(error.contains("\"ip link show nothing\""), "{error}");
    assert!(one.ip("link show lo").unwrap().contains("LOOPBACK,UP"));
    one.batch(lines, OnFailure::Continue).unwrap();
    assert!(!one.ip("link show lo").unwrap().contains("LOOPBACK,UP"));
}

#[test]
fn settings_hold_inside_alone() {
    if !root() {
        return;
    }
    let [left, right] = ["left", "right"].map(|name| Namespace::new(name).unwrap());
    left.set("net.ipv4.ip_forward", "1").unwrap();
    let read = || fs::read_to_string("/proc/sys/net/ipv4/ip_forward").unwrap();
    assert_eq!(left.enter(read).unwrap().trim(), "1");
    assert_eq!(right.enter(read).unwrap().trim(), "0");
    assert!(left.set("net.ipv4.nothing", "1").is_err());
    let error = left.interface_index("zz").unwrap_err();
    assert!(error.to_string().contains("vanished"));
}

#[test]
fn a_panic_inside_reaches_the_caller() {
    if !root() {
        return;
    }
    let one = Namespace::new("panic").unwrap();
    let caught = std::panic::catch_unwind(|| one.enter(|| panic!("inside")));
    assert!(caught.is_err());
}
