//! `corelane capture` as a program that runs beside a test, and what is in its files.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::lab::{Socket, text};

/// Longer than any capture here takes.
const PATIENCE: Duration = Duration::from_mins(1);
/// Between frames that are sent again.
const PAUSE: Duration = Duration::from_millis(20);

/// A capture under way.
pub(super) struct Capture {
    child: Child,
    said: BufReader<ChildStderr>,
    /// What it said when frames were shown.
    pub(super) begun: String,
}

impl Socket {
    pub(super) fn capture(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
        command.arg("capture").args(words).arg("--run-directory");
        command.arg(&self.0).stdin(Stdio::null());
        command
    }

    /// Begins one, and waits until frames are shown.
    pub(super) fn captures(&self, words: &[&str]) -> Capture {
        let mut command = self.capture(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut begun = String::new();
        said.read_line(&mut begun).unwrap();
        assert!(begun.starts_with("capturing on "), "{begun}");
        Capture { child, said, begun }
    }

    /// What it says of a capture that cannot be.
    pub(super) fn captures_not(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = self.capture(words).output().unwrap();
        (output.status.code(), text(&output))
    }
}

impl Capture {
    pub(super) fn signal(&self, signal: libc::c_int) {
        // SAFETY: no pointers; the child has not been waited for, so the number is still its own.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
    }

    /// Its end: exit code, what it printed, what it said. No exit code: it had to be killed.
    pub(super) fn end(self) -> (Option<i32>, String, String) {
        self.end_of(|| {})
    }

    /// The same of what `send` sends, until it has ended.
    pub(super) fn end_of(mut self, send: impl Fn()) -> (Option<i32>, String, String) {
        let mut stdout = self.child.stdout.take().unwrap();
        let mut stderr = self.said;
        let read = |from: &mut dyn Read| {
            let mut all = String::new();
            from.read_to_string(&mut all).unwrap();
            all
        };
        std::thread::scope(|scope| {
            let out = scope.spawn(move || read(&mut stdout));
            let said = scope.spawn(move || read(&mut stderr));
            let begun = Instant::now();
            while self.child.try_wait().unwrap().is_none() {
                if begun.elapsed() > PATIENCE {
                    self.child.kill().unwrap();
                }
                send();
                std::thread::sleep(PAUSE);
            }
            let code = self.child.wait().unwrap().code();
            (code, out.join().unwrap(), said.join().unwrap())
        })
    }
}

/// A frame of a pcapng file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    pub(super) port: String,
    pub(super) bytes: Vec<u8>,
    pub(super) comment: String,
}

impl Recorded {
    /// The value behind `name=` in its comment.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let mut words = self.comment.split(' ');
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Reads a file block by block; knows nothing of how it was written.
pub(super) fn recorded(file: &[u8]) -> Vec<Recorded> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let options = |mut at: usize| {
        let mut all = Vec::new();
        while word(at) != 0 {
            let (code, length) = (word(at) & 0xffff, word(at) >> 16);
            all.push((code, file[at + 4..at + 4 + length].to_vec()));
            at += 4 + length.next_multiple_of(4);
        }
        all
    };
    let text = |options: &[(usize, Vec<u8>)], code| {
        let found = options.iter().find(|(other, _)| *other == code);
        String::from_utf8(found.unwrap().1.clone()).unwrap()
    };
    let (mut at, mut ports, mut frames) = (0, Vec::new(), Vec::new());
    while at < file.len() {
        let (kind, length) = (word(at), word(at + 4));
        assert_eq!(word(at + length - 4), length, "both lengths of a block");
        match kind {
            0x0a0d_0d0a => assert_eq!(word(at + 8), 0x1a2b_3c4d),
            1 => ports.push(text(&options(at + 16), 2)),
            6 => {
                let kept = word(at + 20);
                let options = options(at + 28 + kept.next_multiple_of(4));
                frames.push(Recorded {
                    port: ports[word(at + 8)].clone(),
                    bytes: file[at + 28..at + 28 + kept].to_vec(),
                    comment: text(&options, 1),
                });
            }
            other => panic!("block {other:#x}"),
        }
        at += length;
    }
    frames
}
