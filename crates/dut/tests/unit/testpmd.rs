use std::process::Command;
use std::time::Instant;

use super::*;

/// Some program that ends with its input.
fn program() -> Running {
    let mut command = Command::new("cat");
    let command = process::silent(&mut command).stdin(Stdio::piped());
    Running(command.spawn().expect("cat starts"))
}

/// The process's state as the kernel shows it: `T` while it is stopped.
fn state(running: &Running) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.0.id()));
    let stat = stat.expect("the process is there");
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.expect("a state behind the name")
}

fn becomes(running: &Running, wanted: impl Fn(char) -> bool) -> bool {
    let begun = Instant::now();
    while !wanted(state(running)) {
        if begun.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

#[test]
fn a_stopped_process_runs_again_when_resumed() {
    let running = program();
    running.stop().expect("stopped");
    assert!(becomes(&running, |state| state == 'T'));
    running.resume().expect("resumed");
    assert!(becomes(&running, |state| state != 'T'));
}

#[test]
fn a_stopped_process_ends_when_dropped() {
    let running = program();
    let process = running.0.id();
    running.stop().expect("stopped");
    assert!(becomes(&running, |state| state == 'T'));
    let (done, dropped) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(running);
        let _ = done.send(());
    });
    let ended = dropped.recv_timeout(Duration::from_secs(20));
    if ended.is_err() {
        process::signal(process, Signal::KILL).expect("killed");
    }
    ended.expect("the process ends");
}
