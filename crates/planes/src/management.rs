//! The management plane: a web server with a handler that computes, and people who ask it.
//!
//! The server is busybox's `httpd` (Debian's package `busybox-static`); for each request it starts
//! the handler as a CGI program (RFC 3875), which counts primes and answers with their number. The
//! requests come by an absolute timetable, whether earlier ones were answered or not, and response
//! time counts from the intended start: a server that stalls is charged for all who waited.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use agent::handler::PRIMES;
use host::process::{Group, end_with_thread, silent};
use host::tasks::{TaskError, bind};
use host::{CoreId, Namespace, temporary};

use crate::error::{Error, host};
use crate::result::is_told;

const PORT: u16 = 8_080;
/// Requests that may wait at once; more are counted as timed out without being sent.
const MOST_WAITING: usize = 256;

/// A running web server, stopped when dropped.
pub struct Server {
    group: Group,
    _files: temporary::Directory,
}

impl Server {
    /// Starts the server in `namespace`, with `program` (which answers to the name `compute`) as
    /// its handler, and waits until it answers.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(namespace: &Namespace, program: &Path) -> Result<Self, Error> {
        let start = host("start busybox's httpd, of Debian's package busybox-static");
        let files = temporary::Directory::new("web").map_err(&start)?;
        let handlers = files.path().join("cgi-bin");
        let handler = handlers.join("compute");
        fs::create_dir(&handlers)
            .and_then(|()| fs::copy(program, &handler))
            .and_then(|_| fs::set_permissions(&handler, fs::Permissions::from_mode(0o755)))
            .and_then(|()| symlink("compute", handlers.join("registers")))
            .map_err(&start)?;
        let mut command = namespace.command("busybox");
        command
            .args(["httpd", "-f", "-p", &format!("127.0.0.1:{PORT}"), "-h"])
            .arg(files.path());
        let group = Group::start(silent(end_with_thread(&mut command)));
        let server = Self {
            group: group.map_err(start)?,
            _files: files,
        };
        let answers = namespace.enter(|| {
            (0..100).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                request(Duration::from_secs(2), Handler::Sieve).is_ok()
            })
        })?;
        if answers {
            Ok(server)
        } else {
            Err(Error::NoWebServer(PORT))
        }
    }

    /// Its process; handlers are its children.
    pub(crate) fn process(&self) -> u32 {
        self.group.leader.id()
    }

    /// Binds the server, and so the handlers it starts, to some cores.
    ///
    /// # Errors
    /// The kernel keeps another binding.
    pub fn bind(&self, cores: &[CoreId]) -> Result<(), TaskError> {
        bind(self.group.leader.id(), cores)
    }
}

/// How the management plane is asked.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Requests per second.
    pub rate: f64,
    /// How long.
    pub duration: Duration,
    /// After which a request counts as timed out.
    pub patience: Duration,
    /// What each request has computed.
    pub handler: Handler,
}

/// What a request has the server compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handler {
    /// Primes, in a megabyte of memory.
    Sieve,
    /// Steps of arithmetic that touch no memory.
    Registers {
        /// How many.
        steps: u64,
    },
}

/// How it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Responses {
    /// Response times from the intended start in nanoseconds, sorted.
    pub times_ns: Vec<u64>,
    /// Requests without a right answer in time.
    pub timeouts: u64,
}

impl Responses {
    /// The same where enough requests took longer to say so: without ten of them a percentile is
    /// the longest of a few.
    pub fn percentile_ns(&self, share: f64) -> Option<u64> {
        let told = is_told(share, self.all());
        self.quantile_ns(share).filter(|_| told)
    }

    fn all(&self) -> f64 {
        self.times_ns.len() as f64 + self.timeouts as f64
    }

    /// The response time that a share of all requests did not exceed, those that timed out being
    /// the longest; `None` when that share lies among them.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let all = self.all();
        let rank = (share * all).ceil().max(1.0) as usize;
        self.times_ns.get(rank - 1).copied()
    }
}

/// Asks the server in `namespace` by the timetable, to its end or until interrupted.
///
/// # Errors
/// A namespace that is gone.
pub fn ask(namespace: &Namespace, load: Load) -> Result<Responses, Error> {
    let responses = namespace.enter(|| {
        let (done, answers) = mpsc::channel();
        let begin = Instant::now();
        let count = (load.rate * load.duration.as_secs_f64()) as u64;
        let (mut times_ns, mut timeouts, mut waiting) = (Vec::new(), 0, 0);
        for number in 0..count {
            let intended = begin + Duration::from_secs_f64(number as f64 / load.rate);
            std::thread::sleep(intended.saturating_duration_since(Instant::now()));
            if host::interrupted() {
                break;
            }
            for answer in answers.try_iter() {
                waiting -= 1;
                note(answer, &mut times_ns, &mut timeouts);
            }
            if waiting == MOST_WAITING {
                timeouts += 1;
                continue;
            }
            waiting += 1;
            let done = done.clone();
            std::thread::spawn(move || {
                let answer = request(load.patience, load.handler)
                    .ok()
                    .map(|()| intended.elapsed())
                    .filter(|&time| time <= load.patience);
                // The receiver waits for every sender.
                let _ = done.send(answer);
            });
        }
        drop(done);
        for answer in answers {
            note(answer, &mut times_ns, &mut timeouts);
        }
        times_ns.sort_unstable();
        Responses { times_ns, timeouts }
    })?;
    Ok(responses)
}

/// Does `work`, while somebody asks the server in `namespace` if there is a `load`; waits for both.
///
/// # Errors
/// As [`ask`].
pub(crate) fn asked_while<T>(
    namespace: &Namespace,
    load: Option<Load>,
    work: impl FnOnce() -> T,
) -> Result<(T, Option<Responses>), Error> {
    std::thread::scope(|scope| {
        let asking = load.map(|load| scope.spawn(move || ask(namespace, load)));
        let done = work();
        let joined = asking.map(|asking| {
            let joined = asking.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        Ok((done, joined.transpose()?))
    })
}

fn note(answer: Option<Duration>, times_ns: &mut Vec<u64>, timeouts: &mut u64) {
    match answer {
        Some(time) => times_ns.push(time.as_nanos() as u64),
        None => *timeouts += 1,
    }
}

/// One request, answered rightly or not.
fn request(patience: Duration, handler: Handler) -> io::Result<()> {
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let mut stream = TcpStream::connect_timeout(&server, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let what = match handler {
        Handler::Sieve => "compute".to_owned(),
        Handler::Registers { steps } => format!("registers?{steps}"),
    };
    stream.write_all(format!("GET /cgi-bin/{what} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.") && answer.ends_with(&format!("\n{PRIMES}\n")) {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, answer))
    }
}

#[cfg(test)]
#[path = "../tests/unit/management.rs"]
mod tests;
