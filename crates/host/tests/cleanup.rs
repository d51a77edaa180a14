//! Signals and what is removed after them, told by a process of its own: this test's, once more.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::process::{Signal, signal};

/// Tells this test that it is the process whose signals are tested.
const CHILD: &str = "CORELANE_TEST_CLEANUP";
/// Only ends a test that hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// Says "ready", waits for a signal, says "asked", waits for a line, and says "removed".
fn be_the_child() {
    host::cleanup::on_signal().unwrap();
    // Not `println!`, which the harness keeps.
    let mut out = std::io::stdout();
    let mut say = |word: &str| out.write_all(format!("\n{word}\n").as_bytes()).unwrap();
    say("ready");
    while !host::interrupted() {
        thread::sleep(Duration::from_millis(1));
    }
    say("asked");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    say("removed");
}

/// A child that has heard its first signal, when it was sent, and what else it says.
fn asked(first: Signal) -> (Child, Instant, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "cleanup::a_second_signal_ends_unless_it_is_the_first_again",
        ])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    until(&mut said, "ready");
    let sent = Instant::now();
    signal(child.id(), first).unwrap();
    until(&mut said, "asked");
    (child, sent, said)
}

fn until(said: &mut impl BufRead, word: &str) {
    let mut lines = said.lines().map(Result::unwrap);
    assert!(lines.any(|line| line == word), "it ended before {word:?}");
}

/// Whether the child ends by itself, with the code of one that was cut short.
fn is_cut_short(child: &mut Child) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code() == Some(130);
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    false
}

/// Sends the same signal twice within a second, which a busy machine may not let us; whether
/// the child comes to remove what it made.
fn removes_after_the_same_twice() -> Option<bool> {
    let (mut child, sent, mut said) = asked(Signal::TERM);
    signal(child.id(), Signal::TERM).unwrap();
    // The handler runs before the child goes on, or at least here.
    thread::sleep(Duration::from_millis(100));
    let in_time = sent.elapsed() < Duration::from_secs(1);
    // One that was cut short reads no more.
    let _ = child.stdin.take().unwrap().write_all(b"\n");
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let status = child.wait().unwrap();
    in_time.then(|| rest.contains("removed") && status.success())
}

#[test]
fn a_second_signal_ends_unless_it_is_the_first_again() {
    if std::env::var_os(CHILD).is_some() {
        be_the_child();
        return;
    }
    let end = Instant::now() + PATIENCE;
    let removes = std::iter::repeat_with(removes_after_the_same_twice)
        .take_while(|_| Instant::now() < end)
        .find_map(|removes| removes);
    assert_eq!(removes, Some(true), "as `timeout` sends it");

    let (mut child, _, _said) = asked(Signal::TERM);
    thread::sleep(Duration::from_millis(1100));
    signal(child.id(), Signal::TERM).unwrap();
    assert!(is_cut_short(&mut child), "the same, later");

    let (mut child, _, _said) = asked(Signal::TERM);
    signal(child.id(), Signal::INT).unwrap();
    assert!(is_cut_short(&mut child), "another, at once");
}
