//! Questions to a router's console, as a client of HTTP asks them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::lab::{Lab, Router};
use super::roads::roads;

pub(super) fn runs(lab: &Lab, more: &str) -> Router {
    runs_with(lab, &["r0", "r1"], more)
}

/// A router with a console, and routes of every kind.
pub(super) fn runs_with(lab: &Lab, ports: &[&str], more: &str) -> Router {
    lab.r.ip("link set lo up").unwrap();
    let file = lab.path("console.toml");
    let keys = format!(
        "ports = {ports:?}\nengine = \"xdp\"\ntable-words = 131072\nvrf-words = 8192\n\
         punt-limits = \"none\"\nconsole = true\n{more}"
    );
    std::fs::write(&file, keys).unwrap();
    let router = lab.run_words(&["run".to_owned(), file.to_str().unwrap().to_owned()]);
    roads(lab, &router);
    router
}

/// What was answered to a request.
pub(super) struct Answer {
    /// 0: nothing came.
    pub(super) status: u16,
    pub(super) head: String,
    /// As far as it came.
    pub(super) body: String,
}

impl Answer {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let answer = String::from_utf8_lossy(bytes);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Self {
            status: status.unwrap_or(0),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }
}

/// How long an answer may take on a machine that others flood: the segments of a connection may be
/// lost on its way through loopback, and come again after seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// What never ends is read for so long from its head on.
const READ: Duration = Duration::from_millis(2500);

pub(super) fn connected(lab: &Lab) -> TcpStream {
    let connect = || TcpStream::connect("127.0.0.1:9470");
    lab.r.enter(connect).unwrap().unwrap()
}

/// Asks as a client does.
pub(super) fn asked(lab: &Lab, request: &str) -> Answer {
    let mut stream = connected(lab);
    stream.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut buffer) = (Vec::new(), vec![0; 65536]);
    let mut end = Instant::now() + PATIENCE;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        stream
            .set_read_timeout(Some(left.max(Duration::from_millis(1))))
            .unwrap();
        // Who is turned away may find the connection closed.
        let Ok(length @ 1..) = stream.read(&mut buffer) else {
            break;
        };
        if answer.is_empty() {
            end = Instant::now() + READ;
        }
        answer.extend_from_slice(&buffer[..length]);
    }
    let _gone = stream.shutdown(Shutdown::Both);
    Answer::of(&answer)
}

/// Asks until the answer has a status; panics with those that came.
pub(super) fn wait_for_status(lab: &Lab, what: &str, request: &str, status: u16) {
    let (mut seen, begun) = (Vec::new(), Instant::now());
    while begun.elapsed() < LONGEST {
        seen.push(asked(lab, request).status);
        if seen.last() == Some(&status) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no {what}, which is {status}: {seen:?}");
}

/// How long that may take.
pub(super) const LONGEST: Duration = Duration::from_secs(80);

pub(super) fn get(path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:9470\r\n{more}\r\n")
}
