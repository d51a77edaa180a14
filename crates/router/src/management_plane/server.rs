//! Answers people while the router runs: JSON on a UNIX socket, and HTTP ([`super::http`]).
//!
//! The threads here own nothing of the router. They hand a question to the control plane's
//! thread, which takes one in a turn, pass on the piece of the answer that it makes, and ask for
//! the next one when that is read ([`super::pieces`]). Who wants to take over talks with that
//! thread itself. Each client has a thread of its own, and so many may wait at once
//! ([`CLIENTS`]); question and answer may take [`PATIENCE`] each, however slowly their bytes
//! come.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use fastpath::forward::Reason;

use super::capture::{self, WayAsked};
use super::config::Allow;
use super::console::Console;
use super::http;
use super::metrics::Format;
use super::node;
use super::pieces::{Piece, Pieces};
use crate::take_over;

/// How long a client may take for its question, and again to read the answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Clients served at once by each socket; one more is turned away.
const CLIENTS: usize = 32;
/// A question is one line, and no longer than this.
const LONGEST_QUESTION: u64 = 4096;
/// The same of one that holds a frame, of which each byte is two.
const LONGEST_WITH_FRAME: u64 = LONGEST_QUESTION + (2 << 16);

/// What somebody wants to know.
#[derive(Debug)]
pub enum Question {
    /// `corelane show …`, as words.
    Show(Vec<String>),
    /// The metrics page.
    Metrics(Format),
    /// How it does among others, in one piece.
    Node,
    /// What it has in a table.
    Table(node::Asked),
    /// Whether it is healthy and ready, in one piece.
    Health,
    /// The last frames of a reason, in one piece.
    Frames(Reason),
    /// By which ways frames go: a list in JSON, in one piece.
    Ways(Vec<WayAsked>),
    /// The next piece of an answer.
    More(Pieces),
    /// Somebody wants to take over, who says so in these words and listens there.
    TakeOver(Vec<String>, UnixStream),
    /// Somebody wants to capture, who says so in these words and listens there.
    Capture(Vec<String>, UnixStream),
}

/// A question and where its answer goes.
#[derive(Debug)]
pub struct Asked {
    /// The question.
    pub question: Question,
    /// Takes the answer, or a piece of it.
    pub answer: SyncSender<Piece>,
}

/// Where to answer.
#[derive(Debug)]
pub enum Place {
    /// A UNIX socket, for people.
    Control(PathBuf),
    /// Metrics, by HTTP, for these; and the console, if it is wanted.
    Metrics(SocketAddr, Allow, Option<Console>),
}

/// Asks from within the router: for its other threads.
#[derive(Debug)]
pub struct Asker {
    sender: Sender<Asked>,
    waker: UnixStream,
}

impl Asker {
    /// What is answered in one piece.
    ///
    /// # Errors
    /// When the router is stopping.
    pub fn ask(&self, question: Question) -> io::Result<String> {
        ask_once(question, &self.sender, &self.waker).map(|piece| piece.text)
    }
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

    /// For a thread of the router that has questions.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn asker(&self) -> io::Result<Asker> {
        Ok(Asker {
            sender: self.sender.clone(),
            waker: self.waker.try_clone()?,
        })
    }

    /// Readable when a question is waiting.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.awake.as_fd()
    }

    /// The next question, if one is waiting. There is a byte for each in the descriptor.
    pub fn take(&self) -> Option<Asked> {
        // It comes in a moment, if it is not there yet.
        let _ = (&self.awake).read(&mut [0]);
        self.questions.try_recv().ok()
    }

    /// Answers there from now on.
    ///
    /// # Errors
    /// When it is taken, or cannot be had.
    pub fn listen(&mut self, place: &Place) -> io::Result<()> {
        match place {
            Place::Control(path) => self.listen_unix(path),
            Place::Metrics(address, allow, console) => {
                self.listen_http(*address, allow.clone(), console.clone())
            }
        }
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
        let next = move || listener.accept().map(|(stream, _)| stream);
        serve_each("show", next, move |stream| {
            serve_unix(stream, &sender, &waker)
        })
    }

    /// Serves the metrics by HTTP. Who is not allowed has the connection closed.
    ///
    /// # Errors
    /// When the address is taken.
    pub fn listen_http(
        &mut self,
        address: SocketAddr,
        allow: Allow,
        console: Option<Console>,
    ) -> io::Result<()> {
        let listener = TcpListener::bind(address).map_err(|error| {
            io::Error::new(error.kind(), format!("metrics on {address}: {error}"))
        })?;
        let (sender, waker) = (self.sender.clone(), self.waker.try_clone()?);
        let next = move || {
            loop {
                let (stream, client) = listener.accept()?;
                if allow.admits(client.ip()) {
                    return Ok(stream);
                }
            }
        };
        serve_each("metrics", next, move |stream| {
            http::serve(stream, &sender, &waker, console.as_ref())
        })
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

/// A client's stream, on which everything together takes no longer than until `end`.
pub(super) struct Patient<S> {
    stream: S,
    pub(super) end: Instant,
}

/// A stream whose reads and writes end.
pub(super) trait Timed: Read + Write + Send + 'static {
    fn limit(&self, time: Duration) -> io::Result<()>;
}

impl Timed for UnixStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

impl Timed for TcpStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

impl<S: Timed> Patient<S> {
    fn wait(&self) -> io::Result<()> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.limit(left)
    }
}

impl<S: Timed> Read for Patient<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait()?;
        self.stream.read(buffer)
    }
}

impl<S: Timed> Write for Patient<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait()?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Serves each client on a thread of its own. A comparison takes seconds, and whoever asks for
/// something else meanwhile does not wait for it. One that goes away before its answer is its own
/// affair, and one for whom there is no thread may ask again.
fn serve_each<S: Timed>(
    name: &str,
    mut next: impl FnMut() -> io::Result<S> + Send + 'static,
    serve: impl Fn(Patient<S>) -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<()> {
    let serve = Arc::new(serve);
    std::thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            loop {
                let Ok(stream) = next() else {
                    // Without descriptors for the moment: the clients that are there will end.
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                };
                // This thread holds one.
                if Arc::strong_count(&serve) > CLIENTS {
                    continue;
                }
                let serve = Arc::clone(&serve);
                let end = Instant::now() + PATIENCE;
                let _ = std::thread::Builder::new()
                    .name("answer".into())
                    .spawn(move || serve(Patient { stream, end }));
            }
        })?;
    Ok(())
}

/// Asks, and takes the first piece of the answer.
pub(super) fn ask_once(
    question: Question,
    sender: &Sender<Asked>,
    mut waker: &UnixStream,
) -> io::Result<Piece> {
    let (answer, wait) = sync_channel(1);
    sender
        .send(Asked { question, answer })
        .map_err(|_| stopping())?;
    // So many bytes as there are clients always fit.
    let _ = waker.write(&[0]);
    wait.recv_timeout(PATIENCE * 6).map_err(|_| stopping())
}

fn stopping() -> io::Error {
    io::Error::other("the router is stopping")
}

/// Asks, and passes on what is answered.
pub(super) fn ask<S: Timed>(
    mut question: Question,
    sender: &Sender<Asked>,
    waker: &UnixStream,
    stream: &mut Patient<S>,
) -> io::Result<()> {
    let mut left = PATIENCE;
    loop {
        let piece = ask_once(question, sender, waker)?;
        let began = Instant::now();
        stream.end = began + left;
        stream.write_all(piece.text.as_bytes())?;
        left = left.saturating_sub(began.elapsed());
        match piece.rest {
            Some(rest) => question = Question::More(rest),
            None => return Ok(()),
        }
    }
}

fn serve_unix(
    mut stream: Patient<UnixStream>,
    sender: &Sender<Asked>,
    mut waker: &UnixStream,
) -> io::Result<()> {
    let mut line = String::new();
    BufReader::new((&mut stream).take(LONGEST_WITH_FRAME)).read_line(&mut line)?;
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    let first = words.first().map_or("", String::as_str);
    let talk: Option<fn(_, _) -> _> = match first {
        take_over::QUESTION => Some(Question::TakeOver),
        capture::QUESTION => Some(Question::Capture),
        _ => None,
    };
    if let Some(talk) = talk {
        let question = talk(words, stream.stream);
        // Nobody waits for an answer here.
        let (answer, _) = sync_channel(1);
        let asked = Asked { question, answer };
        sender.send(asked).map_err(|_| stopping())?;
        return waker.write(&[0]).map(drop);
    }
    ask(Question::Show(words), sender, waker, &mut stream)
}

#[cfg(test)]
#[path = "../../tests/unit/server.rs"]
mod tests;
