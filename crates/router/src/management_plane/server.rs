//! Answers people while the router runs: JSON on a UNIX socket, `OpenMetrics` by HTTP on loopback.
//!
//! The threads here own nothing of the router. They hand a question to the control plane's thread,
//! which answers between two batches of announcements, and pass the answer on. A client that does
//! not read or write blocks nobody for longer than [`PATIENCE`].

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

/// How long a client may take for its question, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A question is one line, and no longer than this.
const LONGEST_QUESTION: u64 = 4096;

/// What somebody wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// `corelane show …`, as words.
    Show(Vec<String>),
    /// The metrics page.
    Metrics,
}

/// A question and where its answer goes.
#[derive(Debug)]
pub struct Asked {
    /// The question.
    pub question: Question,
    /// Takes the text of the answer.
    pub answer: SyncSender<String>,
}

/// The listening sockets and the questions that came in.
#[derive(Debug)]
pub struct Server {
    questions: Receiver<Asked>,
    sender: Sender<Asked>,
    awake: UnixStream,
    waker: UnixStream,
    socket: Option<PathBuf>,
}

impl Server {
    /// A server that listens nowhere yet.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let (sender, questions) = channel();
        let (awake, waker) = UnixStream::pair()?;
        awake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        Ok(Self {
            questions,
            sender,
            awake,
            waker,
            socket: None,
        })
    }

    /// Readable when a question is waiting.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.awake.as_fd()
    }

    /// The questions waiting.
    pub fn take(&self) -> Vec<Asked> {
        let mut buffer = [0; 64];
        while matches!((&self.awake).read(&mut buffer), Ok(length) if length > 0) {}
        self.questions.try_iter().collect()
    }

    /// Answers on a UNIX socket, for its owner only. A socket left over by a process that is gone
    /// is replaced.
    ///
    /// # Errors
    /// When another router answers there, or the place cannot be written.
    pub fn listen_unix(&mut self, path: &Path) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        if path.exists() {
            if UnixStream::connect(path).is_ok() {
                let what = format!(
                    "another router answers on {}; stop it, or choose another instance",
                    path.display()
                );
                return Err(io::Error::new(io::ErrorKind::AddrInUse, what));
            }
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        self.socket = Some(path.to_owned());
        let (sender, waker) = (self.sender.clone(), self.waker.try_clone()?);
        std::thread::Builder::new()
            .name("show".into())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    let (sender, waker) = (sender.clone(), waker.try_clone());
                    // A comparison takes seconds; who asks for something else meanwhile does not
                    // wait for it. A client that goes away before its answer is
                    // its own affair, and one for whom there is no thread may ask again.
                    let _ = std::thread::Builder::new()
                        .name("answer".into())
                        .spawn(move || serve_unix(&stream, &sender, &waker?));
                }
            })?;
        Ok(())
    }

    /// Serves the metrics by HTTP.
    ///
    /// # Errors
    /// When the address is taken.
    pub fn listen_http(&mut self, address: SocketAddr) -> io::Result<()> {
        let listener = TcpListener::bind(address).map_err(|error| {
            io::Error::new(error.kind(), format!("metrics on {address}: {error}"))
        })?;
        let (sender, waker) = (self.sender.clone(), self.waker.try_clone()?);
        std::thread::Builder::new()
            .name("metrics".into())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    // As above.
                    let _ = serve_http(&stream, &sender, &waker);
                }
            })?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(path) = &self.socket {
            // Whoever starts next replaces what could not be removed.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn ask(question: Question, sender: &Sender<Asked>, waker: &UnixStream) -> io::Result<String> {
    let (answer, wait) = sync_channel(1);
    let gone = || io::Error::other("the router is stopping");
    sender
        .send(Asked { question, answer })
        .map_err(|_| gone())?;
    let mut waker = waker;
    // A full pipe wakes as well as one byte more.
    let _ = waker.write(&[0]);
    wait.recv_timeout(PATIENCE * 6).map_err(|_| gone())
}

fn serve_unix(stream: &UnixStream, sender: &Sender<Asked>, waker: &UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST_QUESTION)).read_line(&mut line)?;
    let words = line.split_whitespace().map(String::from).collect();
    let answer = ask(Question::Show(words), sender, waker)?;
    let mut stream = stream;
    stream.write_all(answer.as_bytes())
}

fn serve_http(stream: &TcpStream, sender: &Sender<Asked>, waker: &UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.take(LONGEST_QUESTION));
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut words = request.split_whitespace();
    let (method, path) = (words.next(), words.next());
    let (status, kind, body) = match (method, path) {
        (Some("GET"), Some("/metrics")) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ("200 OK", kind, ask(Question::Metrics, sender, waker)?)
        }
        (Some("GET"), _) => (
            "404 Not Found",
            "text/plain",
            "only /metrics is here\n".to_owned(),
        ),
        _ => (
            "405 Method Not Allowed",
            "text/plain",
            "only GET is understood\n".to_owned(),
        ),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: \
         close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_question_does_not_wait_for_the_answer_of_another() {
        let path = std::env::temp_dir().join(format!("corelane-server-{}", std::process::id()));
        let mut server = Server::new().unwrap();
        server.listen_unix(&path).unwrap();
        let clients = ["verify\n", "ports\n"].map(|question| {
            let mut client = UnixStream::connect(&path).unwrap();
            client.write_all(question.as_bytes()).unwrap();
            client
        });
        let mut asked = Vec::new();
        let end = Instant::now() + PATIENCE;
        while asked.len() < clients.len() && Instant::now() < end {
            asked.extend(server.take());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(
            asked.len(),
            2,
            "neither was answered yet, and both are asked"
        );
        for question in asked {
            question
                .answer
                .send(format!("{:?}", question.question))
                .unwrap();
        }
        for (mut client, word) in clients.into_iter().zip(["verify", "ports"]) {
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert!(answer.contains(word), "{answer}");
        }
    }
}
