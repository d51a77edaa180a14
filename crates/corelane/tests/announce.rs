//! `corelane announce` beside a stand-in for the router. Commands write what they are told.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const READY: u8 = 0;
const NOT_READY: u8 = 1;
/// It takes the question, and does not answer.
const SILENT: u8 = 2;

/// A place with a configuration, and what has been told so far.
struct Place {
    directory: TempDir,
    state: Arc<AtomicU8>,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Self {
            directory,
            state: Arc::new(AtomicU8::new(READY)),
        };
        let told = place.path("told").display().to_string();
        place.configure(&format!(
            "drain-withdraw = \"echo withdraw >> {told}\"\n\
             drain-restore = \"echo announce >> {told}\"\n"
        ));
        place
    }

    fn configure(&self, keys: &str) {
        let text = format!("ports = [\"r0\"]\n{keys}");
        fs::write(self.path("corelane.toml"), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A stand-in for the router appears.
    fn start(&self) {
        let listener = UnixListener::bind(self.path("default.sock")).unwrap();
        let state = Arc::clone(&self.state);
        thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut question = String::new();
                BufReader::new(&stream).read_line(&mut question).unwrap();
                assert_eq!(question, "health\n");
                let state = state.load(Ordering::Acquire);
                if state == SILENT {
                    kept.push(stream);
                    continue;
                }
                let answer = serde_json::json!({
                    "ready": state == READY, "draining": false, "conditions": [{
                        "what": "all ports forward", "holds": state == READY,
                        "reason": (state == NOT_READY).then_some("r0 is absent"),
                    }],
                });
                // Whoever asked may have ended.
                let _gone = writeln!(stream, "{answer}");
            }
        });
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
        command.arg("announce").arg(self.path("corelane.toml"));
        command.arg("--run-directory").arg(self.directory.path());
        command.args(more).stdin(Stdio::null());
        command
    }

    fn once(&self) -> Output {
        self.command(&["--once"]).output().unwrap()
    }

    /// Looks ten times a second.
    fn watch(&self, more: &[&str]) -> Watch {
        let mut command = self.command(&["--interval", "0.1"]);
        let child = command.args(more).stderr(Stdio::piped()).spawn();
        Watch(child.unwrap())
    }

    fn told(&self) -> String {
        let told = fs::read_to_string(self.path("told")).unwrap_or_default();
        told.lines().collect::<Vec<_>>().join(" ")
    }

    fn wait_for(&self, told: &str) {
        let end = Instant::now() + Duration::from_mins(1);
        while self.told() != told {
            assert!(Instant::now() < end, "{} is no {told}", self.told());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A verb that goes on.
struct Watch(Child);

impl Watch {
    /// Tells it to end: how it ended, and what it had said.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
        let mut said = String::new();
        let errors = self.0.stderr.as_mut().unwrap();
        errors.read_to_string(&mut said).unwrap();
        (self.0.wait().unwrap().code(), said)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.0.kill();
        let _waited = self.0.wait();
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn it_follows_the_router_that_comes_and_goes() {
    let place = Place::new();
    let watch = place.watch(&["--after", "0"]);
    place.wait_for("withdraw");
    place.start();
    place.wait_for("withdraw announce");
    place.state.store(NOT_READY, Ordering::Release);
    place.wait_for("withdraw announce withdraw");
    place.state.store(READY, Ordering::Release);
    place.wait_for("withdraw announce withdraw announce");
    let (code, said) = watch.end(Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    // What is announced stays so.
    assert_eq!(place.told(), "withdraw announce withdraw announce");
    for line in [
        "level=warning event=withdrawn reason=\"no router answers on",
        "level=info event=announced\n",
        "level=warning event=withdrawn reason=\"r0 is absent\"",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(said.lines().count(), 4, "{said}");
}

#[test]
fn a_router_that_does_not_answer_is_not_ready_and_the_end_may_withdraw() {
    let place = Place::new();
    place.start();
    let watch = place.watch(&["--after", "0", "--withdraw-at-end"]);
    place.wait_for("announce");
    place.state.store(SILENT, Ordering::Release);
    place.wait_for("announce withdraw");
    let (code, said) = watch.end(Signal::INT);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("has not answered for 2 s"), "{said}");
    assert!(said.contains("reason=\"told to end\""), "{said}");
    assert_eq!(place.told(), "announce withdraw withdraw");
}

#[test]
fn what_fails_is_said_once_and_told_again() {
    let place = Place::new();
    let (there, tried) = (place.path("there"), place.path("tried"));
    place.configure(&format!(
        "drain-withdraw = \"echo >> {}; test -e {} || {{ echo no daemon; exit 7; }}\"\n\
         drain-restore = \"true\"\n",
        tried.display(),
        there.display()
    ));
    let tries = || fs::read(&tried).map_or(0, |lines| lines.len());
    let watch = place.watch(&[]);
    let end = Instant::now() + Duration::from_mins(1);
    while tries() < 3 {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(20));
    }
    fs::write(&there, "").unwrap();
    let mut before = 0;
    while tries() > before {
        before = tries();
        thread::sleep(Duration::from_secs(1));
    }
    let (code, said) = watch.end(Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    let failed = said.lines().filter(|line| line.contains("event=failed"));
    assert_eq!(failed.count(), 1, "{said}");
    for word in [
        "what=withdraw",
        "no daemon; look at drain-withdraw",
        "event=withdrawn",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn once_tells_and_answers() {
    let place = Place::new();
    let output = place.once();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_eq!(place.told(), "withdraw");
    place.start();
    let output = place.once();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(place.told(), "withdraw announce");
    place.configure("drain-withdraw = \"true\"\ndrain-restore = \"exit 7\"\n");
    let output = place.once();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("look at drain-restore"));
    place.configure("");
    let output = place.once();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("give drain-routing, or drain-withdraw"));
}

#[test]
fn a_full_disk_leaves_the_file_of_bird_as_it_was() {
    let place = Place::new();
    let file = place.path("drain.conf");
    let before = "define corelane_draining = false;\n";
    fs::write(&file, before).unwrap();
    place.configure(&format!(
        "drain-routing = \"bird\"\ndrain-bird-file = \"{}\"\n",
        file.display()
    ));
    // A limit of 0 bytes for files refuses what a full disk refuses.
    let mut command = Command::new("bash");
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    let verb = place.command(&["--once"]);
    command.args(["-c", script]).arg(verb.get_program());
    let output = command.args(verb.get_args()).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for word in [
        "File too large",
        "it is as it was",
        "look at drain-bird-file",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let files: Vec<_> = fs::read_dir(place.directory.path()).unwrap().collect();
    assert_eq!(files.len(), 2, "nothing else is left: {files:?}");
}
