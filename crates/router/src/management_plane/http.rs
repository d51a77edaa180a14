//! What is served by HTTP: the metrics, and whether the router is healthy and ready.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::time::Instant;

use super::metrics::Format;
use super::server::{Asked, LONGEST_QUESTION, PATIENCE, Patient, Question, Timed, ask, ask_once};

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// What a client wants.
struct Request {
    method: String,
    path: String,
    /// The form of the metrics that it prefers.
    format: Format,
}

impl Request {
    fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut lines = BufReader::new(stream.take(LONGEST_QUESTION)).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        let mut words = first.split_whitespace().map(str::to_owned);
        let mut request = Self {
            method: words.next().unwrap_or_default(),
            path: words.next().unwrap_or_default(),
            format: Format::Text,
        };
        // All of it: a connection that is closed with bytes unread is reset, and its answer cut
        // off.
        let rest = lines.map_while(Result::ok);
        for line in rest.take_while(|line| !line.is_empty()) {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("accept")
            {
                request.format = Format::accepted(value);
            }
        }
        Ok(request)
    }
}

/// Answers one request.
pub(super) fn serve<S: Timed>(
    mut stream: Patient<S>,
    sender: &Sender<Asked>,
    waker: &UnixStream,
) -> io::Result<()> {
    let Request {
        method,
        path,
        format,
    } = Request::read(&mut stream)?;
    if method != "GET" {
        let status = "405 Method Not Allowed";
        return whole(&mut stream, status, TEXT, "only GET is understood\n");
    }
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

fn whole<S: Timed>(
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
    stream.end = Instant::now() + PATIENCE;
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())
}
