//! What is answered to browsers.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Console, is_ours, page};
use crate::management_plane::http::{JSON, Request, TEXT, head_with, whole};
use crate::management_plane::server::{Asked, PATIENCE, Patient, Question, Timed, ask_once};
use crate::management_plane::{capture, explain};

/// How often a viewer's thread looks for the next point.
const PAUSE: Duration = Duration::from_millis(200);
/// The header that a page of another site cannot send without being allowed to.
const OWN: &str = "the page's own requests have the header X-Corelane: 1\n";

/// Answers a request, if it is for the console.
pub(in crate::management_plane) fn answer<S: Timed>(
    console: &Console,
    request: &Request,
    stream: &mut Patient<S>,
    sender: &Sender<Asked>,
    waker: &UnixStream,
) -> io::Result<bool> {
    let path = request.path.split('?').next().unwrap_or_default();
    if path != "/" && !path.starts_with("/console/") {
        return Ok(false);
    }
    let refused = |stream: &mut Patient<S>, why: &str| whole(stream, "403 Forbidden", TEXT, why);
    if !is_ours(&request.host) {
        let why = "ask by this router's address: another name could be another site's\n";
        return refused(stream, why).map(|()| true);
    }
    if path == "/" {
        let (page, policy) = page::page()?;
        let more = format!(
            "Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\n\
             Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\n"
        );
        head_with(stream, "200 OK", "text/html; charset=utf-8", &more)?;
        return stream.write_all(page.as_bytes()).map(|()| true);
    }
    if !console.admits(&request.parameter("token")) {
        return refused(stream, "give the token of the configuration: /#token=…\n").map(|()| true);
    }
    match path {
        "/console/events" => events(console, stream)?,
        _ if !request.is_own => refused(stream, OWN)?,
        "/console/explain" => {
            let to = request.parameter("to");
            let port = request.parameter("port");
            let question = explain::Question {
                to: to.trim().parse().ok(),
                from: request.parameter("from").parse().ok(),
                port: (!port.is_empty()).then_some(port),
                ..explain::Question::default()
            };
            let answer = if question.to.is_none() {
                let why = format!("{to:?} is no address: give one, such as 192.0.2.1");
                format!("{}\n", serde_json::json!({ "error": why }))
            } else {
                let words = vec!["explain".to_owned(), question.line()];
                ask_once(Question::Show(words), sender, waker)?.text
            };
            whole(stream, "200 OK", JSON, &answer)?;
        }
        "/console/frames" => {
            let name = request.parameter("reason");
            let answer = match capture::reason(&name) {
                Some(reason) if reason.is_shown() => {
                    ask_once(Question::Frames(reason), sender, waker)?.text
                }
                Some(_) => {
                    failed("it is found out when the frame has gone on: there is none to show")
                }
                None => failed(&format!(
                    "{name:?} is no reason: corelane show drops lists them"
                )),
            };
            whole(stream, "200 OK", JSON, &answer)?;
        }
        "/console/hitters" => {
            let words = vec!["hitters".to_owned()];
            let answer = ask_once(Question::Show(words), sender, waker)?.text;
            whole(stream, "200 OK", JSON, &answer)?;
        }
        _ => whole(
            stream,
            "404 Not Found",
            TEXT,
            "no such part of the console\n",
        )?,
    }
    Ok(true)
}

/// The answer when there are no frames.
fn failed(why: &str) -> String {
    format!("{}\n", serde_json::json!({ "frames": [], "failed": why }))
}

/// Sends the history, then each point as it comes, until nobody reads any more.
fn events<S: Timed>(console: &Console, stream: &mut Patient<S>) -> io::Result<()> {
    let Some(_viewer) = console.view() else {
        let why = "enough viewers are there; close one\n";
        return whole(stream, "503 Service Unavailable", TEXT, why);
    };
    head_with(
        stream,
        "200 OK",
        "text/event-stream",
        "Cache-Control: no-store\r\n",
    )?;
    let mut next = 0;
    // Where else one may look.
    let peers = serde_json::json!(&*console.peers);
    let mut begins = format!("event: peers\ndata: {peers}\n\n");
    loop {
        let (points, after) = console.history().since(next);
        next = after;
        let begins = std::mem::take(&mut begins);
        let text = points
            .iter()
            .fold(begins, |text, point| text + "data: " + point + "\n\n");
        if !text.is_empty() {
            stream.end = Instant::now() + PATIENCE;
            stream.write_all(text.as_bytes())?;
        }
        sleep(PAUSE);
    }
}
