//! The router under test: the program itself, as its users run it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Duration;

use host::Namespace;
use host::process::{Group, Signal, end_with_thread, signal};
use host::temporary::Directory;
use router::management_plane::client;
use serde_json::Value;

use crate::Error;
use crate::hands::HOSTS;

/// How long it may take until it is ready: the kernel checks its programs, for which a niced search
/// on a busy machine has little time. One that ends is noticed at once.
const READY: Duration = Duration::from_mins(10);
/// How long it may take until it has ended.
const PATIENCE: Duration = Duration::from_mins(1);
/// Lines of its log that an error has.
const LAST_LINES: usize = 12;
/// Reasons for which it loses frames that it would have carried.
const NO_ROOM: [&str; 2] = ["socket-full", "egress-refused"];

/// How the program is started.
#[derive(Clone, Debug)]
pub struct Start {
    /// The executable.
    pub executable: PathBuf,
    /// The engine's name.
    pub engine: String,
    /// More options of `corelane run`.
    pub options: Vec<String>,
}

/// A running router.
pub(crate) struct Program {
    group: Group,
    directory: Directory,
}

impl Program {
    /// Starts it between all ports and waits until it is ready.
    pub(crate) fn start(start: &Start, namespace: &Namespace) -> Result<Self, Error> {
        let directory = Directory::new("twin").map_err(Error::Tool)?;
        let log = File::create(directory.path().join("log")).map_err(Error::Tool)?;
        let mut command = namespace.command(&start.executable);
        command.args(["run", "--engine", &start.engine, "--metrics", ""]);
        // The kernel has no limits for its own.
        command.args(["--punt-limits", "none"]);
        for number in 0..HOSTS.len() {
            command.arg("--port").arg(format!("r{number}"));
        }
        command
            .args(&start.options)
            .arg("--run-directory")
            .arg(directory.path())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut group = Group::start(end_with_thread(&mut command)).map_err(Error::Tool)?;
        let (sender, lines) = channel();
        let out = group.leader.stdout.take();
        std::thread::spawn(move || {
            for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()) {
                let _ = sender.send(line);
            }
        });
        let program = Self { group, directory };
        match lines.recv_timeout(READY) {
            // Not one that leaves a port to the kernel.
            Ok(Ok(line)) if line.starts_with("ready ") && !line.contains("=none") => Ok(program),
            _ => Err(Error::NotReady(program.last_words())),
        }
    }

    /// The end of its log, when it has ended.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.group.ended()?;
        Some(self.last_words())
    }

    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    /// Frames that it has forwarded itself.
    pub(crate) fn forwarded(&self) -> u64 {
        let ports = ask(self.directory.path(), "ports");
        let ports = ports["ports"].as_array().into_iter().flatten();
        ports.filter_map(|port| port["forwarded"].as_u64()).sum()
    }

    /// Frames for which a port's ring or a worker's socket had no room, as it counts them.
    pub(crate) fn no_room(&self) -> u64 {
        let reasons = ask(self.directory.path(), "drops");
        let reasons = reasons["drops"].as_array().into_iter().flatten();
        let full = |reason: &&Value| NO_ROOM.iter().any(|name| reason["reason"] == **name);
        reasons
            .filter(full)
            .filter_map(|reason| reason["frames"].as_u64())
            .sum()
    }

    /// Returns when its control plane has gone round once, at least: an answer is given by a turn,
    /// so between two there is all that follows the first.
    pub(crate) fn turn(&self) {
        for _ in 0..2 {
            ask(self.directory.path(), "routes 0");
        }
    }

    /// Ends it as a service manager would.
    pub(crate) fn end(mut self) {
        let _ = signal(self.group.leader.id(), Signal::TERM);
        self.group.wait(PATIENCE);
    }
}

fn ask(directory: &Path, question: &str) -> Value {
    let answer = client::ask(&directory.join("default.sock"), question).unwrap_or_default();
    serde_json::from_str(&answer).unwrap_or_default()
}
