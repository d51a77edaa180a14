//! What is served by HTTP: the metrics, and whether the router is healthy and ready.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::console::{self, Console};
use super::metrics::Format;
use super::server::{Asked, PATIENCE, Patient, Question, Timed, ask, ask_once};

pub(super) const JSON: &str = "application/json";
pub(super) const TEXT: &str = "text/plain";

/// A request's bytes at most. Browsers send what other pages of this host have stored, too.
const LONGEST_REQUEST: u64 = 16 << 10;

/// What comes behind a request that is none is read for so long, and so many bytes of it.
const LINGERS: Duration = Duration::from_millis(300);
const DISCARDED: u64 = 1 << 20;

/// Why a request is none.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    status: &'static str,
    why: &'static str,
}

const NOT_HTTP: Fault = Fault {
    status: "400 Bad Request",
    why: "no request of HTTP/1.1: send GET /metrics HTTP/1.1, a line Host:, and an empty line\n",
};
const TOO_LONG: Fault = Fault {
    status: "431 Request Header Fields Too Large",
    why: "a request has 16383 bytes at most\n",
};

/// What a client wants.
pub(super) struct Request {
    method: String,
    /// With what is behind `?`.
    pub(super) path: String,
    /// The form of the metrics that it prefers.
    format: Format,
    /// The name by which it asks for this host.
    pub(super) host: String,
    /// It has the header that pages of other sites cannot send.
    pub(super) is_own: bool,
}

impl Request {
    /// The value of a parameter behind `?`; empty when there is none.
    pub(super) fn parameter(&self, name: &str) -> String {
        let (_, query) = self.path.split_once('?').unwrap_or_default();
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(key, _)| *key == name)
            .map_or_else(String::new, |(_, value)| decoded(value))
    }

    /// Reads a request, or says what is wrong with it.
    fn read(stream: &mut impl Read) -> io::Result<Result<Self, Fault>> {
        let mut reader = BufReader::new(stream.take(LONGEST_REQUEST));
        let mut bytes = Vec::new();
        loop {
            // All of it: a connection that is closed with bytes unread is reset, and its answer cut
            // off.
            let line = bytes.len();
            reader.read_until(b'\n', &mut bytes)?;
            if bytes.len() as u64 >= LONGEST_REQUEST {
                return Ok(Err(TOO_LONG));
            }
            if bytes[line..].trim_ascii().is_empty() {
                break;
            }
        }
        Ok(String::from_utf8(bytes).map_or(Err(NOT_HTTP), |text| Self::parse(&text)))
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let mut lines = text.lines();
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, path, version] = words[..] else {
            return Err(NOT_HTTP);
        };
        if !path.starts_with('/') || !version.starts_with("HTTP/1.") {
            return Err(NOT_HTTP);
        }
        let mut request = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            format: Format::Text,
            host: String::new(),
            is_own: false,
        };
        for line in lines {
            let (name, value) = line.split_once(':').unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "accept" => request.format = Format::accepted(value),
                "host" => value.trim().clone_into(&mut request.host),
                "x-corelane" => request.is_own = true,
                _ => {}
            }
        }
        Ok(request)
    }
}

/// `%20` and its like as the bytes that they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = &behind[if byte.is_some() { 2 } else { 0 }..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Answers one request.
pub(super) fn serve<S: Timed>(
    mut stream: Patient<S>,
    sender: &Sender<Asked>,
    waker: &UnixStream,
    console: Option<&Console>,
) -> io::Result<()> {
    let request = match Request::read(&mut stream)? {
        Ok(request) => request,
        Err(Fault { status, why }) => {
            whole(&mut stream, status, TEXT, why)?;
            // As there, as far as it comes at once.
            stream.end = Instant::now() + LINGERS;
            let _rest = io::copy(&mut (&mut stream).take(DISCARDED), &mut io::sink());
            return Ok(());
        }
    };
    if request.method != "GET" {
        let status = "405 Method Not Allowed";
        return whole(&mut stream, status, TEXT, "only GET is understood\n");
    }
    if let Some(console) = console
        && console::answer(console, &request, &mut stream, sender, waker)?
    {
        return Ok(());
    }
    let Request { path, format, .. } = request;
    match path.as_str() {
        "/metrics" => {
            head(&mut stream, "200 OK", format.content_type())?;
            ask(Question::Metrics(format), sender, waker, &mut stream)
        }
        "/healthz" | "/readyz" => {
            let health = ask_once(Question::Health, sender, waker)?.text;
            let wanted = if path == "/readyz" {
                "\"ready\":true"
            } else {
                "\"healthy\":true"
            };
            let status = if health.contains(wanted) {
                "200 OK"
            } else {
                "503 Service Unavailable"
            };
            whole(&mut stream, status, JSON, &health)
        }
        "/node" => {
            let node = ask_once(Question::Node, sender, waker)?.text;
            whole(&mut stream, "200 OK", JSON, &node)
        }
        path => {
            let Ok(asked) = path.parse() else {
                let known = "/metrics, /healthz, /readyz and /node are here\n";
                return whole(&mut stream, "404 Not Found", TEXT, known);
            };
            head(&mut stream, "200 OK", JSON)?;
            ask(Question::Table(asked), sender, waker, &mut stream)
        }
    }
}

pub(super) fn whole<S: Timed>(
    stream: &mut Patient<S>,
    status: &str,
    kind: &str,
    body: &str,
) -> io::Result<()> {
    head(stream, status, kind)?;
    stream.write_all(body.as_bytes())
}

/// How long what follows will be, nobody knows: it ends with the connection.
fn head<S: Timed>(stream: &mut Patient<S>, status: &str, kind: &str) -> io::Result<()> {
    head_with(stream, status, kind, "")
}

/// The same with more lines, each with its end.
pub(super) fn head_with<S: Timed>(
    stream: &mut Patient<S>,
    status: &str,
    kind: &str,
    more: &str,
) -> io::Result<()> {
    stream.end = Instant::now() + PATIENCE;
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes())
}

#[cfg(test)]
#[path = "../../tests/unit/http.rs"]
mod tests;
