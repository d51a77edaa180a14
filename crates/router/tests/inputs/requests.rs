//! Any bytes as a question on the control socket or as a request for the metrics, by the real
//! sockets: whoever writes a line gets an answer, of the form that is promised.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use router::control_plane::follower::Follower;
use router::management_plane::config::Allow;
use router::management_plane::server::{Question, Server};
use router::management_plane::{answers, node};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use crate::recording::Recording;

/// A question is no longer.
const LONGEST: usize = 4096;

/// A router without ports that answers.
pub(crate) struct Answering {
    server: Server,
    follower: Follower,
    directory: tempfile::TempDir,
    metrics: SocketAddr,
    asked: u32,
}

impl Answering {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut server = Server::new().unwrap();
        server
            .listen_unix(&directory.path().join("socket"))
            .unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let metrics = free.local_addr().unwrap();
        drop(free);
        server.listen_http(metrics, Allow::default(), None).unwrap();
        Self {
            server,
            follower: Follower::start(&[], Box::new(Recording::new())).unwrap(),
            directory,
            metrics,
            asked: 0,
        }
    }

    pub(crate) fn question(&mut self, bytes: &[u8]) {
        let mut client = UnixStream::connect(self.directory.path().join("socket")).unwrap();
        let _ = client.write_all(bytes);
        client.shutdown(Shutdown::Write).unwrap();
        let answer = self.answer_to(client);
        if is_a_line(bytes) {
            let value: serde_json::Value = serde_json::from_slice(&answer).unwrap();
            assert!(value.is_object(), "{value}");
        }
    }

    pub(crate) fn request(&mut self, bytes: &[u8]) {
        let mut client = self.connect();
        let _ = client.write_all(bytes);
        // It may have been answered and closed already.
        let _ = client.shutdown(Shutdown::Write);
        let answer = self.answer_to(client);
        // What is behind an empty line is not read, so the answer may be cut off.
        let all_is_read = !bytes[..bytes.len().saturating_sub(1)].contains(&b'\n');
        if is_a_line(bytes) && all_is_read && bytes.len() < LONGEST {
            assert!(answer.starts_with(b"HTTP/1.1 "), "{answer:?}");
        }
    }

    /// From an address of its own: a closed connection keeps its pair of addresses for a minute.
    fn connect(&mut self) -> TcpStream {
        self.asked += 1;
        let [_, a, b, c] = self.asked.to_be_bytes();
        let from = SocketAddr::from((Ipv4Addr::new(127, 1 | a, b, c), 0));
        let stream = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&stream, &from).unwrap();
        connect(&stream, &self.metrics).unwrap();
        stream.into()
    }

    /// Does the control plane's part until the client has all that it gets.
    fn answer_to(&mut self, mut client: impl Read + AsFd) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let mut ready = [
                PollFd::from_borrowed_fd(self.server.descriptor(), PollFlags::IN),
                PollFd::new(&client, PollFlags::IN),
            ];
            let longest = rustix::event::Timespec::try_from(Duration::from_secs(30)).unwrap();
            assert!(poll(&mut ready, Some(&longest)).unwrap() > 0, "no answer");
            let is_answered = !ready[1].revents().is_empty();
            if let Some(asked) = self.server.take() {
                let pieces = match asked.question {
                    Question::Metrics(_) => "# EOF\n".to_owned().into(),
                    Question::Health | Question::Node | Question::Frames(_) => {
                        "{}\n".to_owned().into()
                    }
                    Question::Table(asked) => node::about(asked),
                    Question::Show(words) => {
                        let words: Vec<&str> = words.iter().map(String::as_str).collect();
                        let said = answers::show(&words, &self.follower, &[]);
                        said.unwrap_or_else(|error| answers::failed(error).into())
                    }
                    Question::More(rest) => rest,
                    // Streams are closed, and nobody waits for an answer; no client asks for ways.
                    Question::TakeOver(..) | Question::Capture(..) | Question::Ways(_) => {
                        String::new().into()
                    }
                };
                let _ = asked.answer.try_send(pieces.piece(&self.follower));
            }
            if is_answered {
                match client.read(&mut buffer) {
                    Ok(0) | Err(_) => return all,
                    Ok(length) => all.extend_from_slice(&buffer[..length]),
                }
            }
        }
    }
}

/// Is the first line, as far as it is read, text?
fn is_a_line(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let end = bytes.iter().position(|byte| *byte == b'\n');
    std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())]).is_ok()
}
