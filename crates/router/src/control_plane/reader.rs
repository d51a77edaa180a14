//! A thread that reads something of the kernel whenever it is told to, in the network namespace of
//! whoever started it: some answers wait for others who change links, and there may be thousands of
//! links to ask about.
//!
//! It is told to at once when something is announced, and ten times a second for what the kernel
//! does not announce. When there is much to read it reads less often: it never takes more than a
//! fifth of a core.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// From the beginning of a reading to that of the next, when nothing is announced.
const INTERVAL: Duration = Duration::from_millis(100);
/// And at least so many times what it took.
const SHARE: u32 = 5;

/// The thread, what it is told and what it answers.
#[derive(Debug)]
pub struct Reader<O, A> {
    name: &'static str,
    read: fn(O) -> A,
    thread: Option<Thread<O, A>>,
    /// A byte for each answer.
    bell: PipeReader,
    ringer: PipeWriter,
    /// When it last began, and whether it reads still.
    began: Instant,
    is_reading: bool,
    /// What the last reading took.
    took: Duration,
    /// Something has changed since it last began.
    is_wanted: bool,
}

#[derive(Debug)]
struct Thread<O, A> {
    orders: Sender<O>,
    answers: Receiver<(A, Duration)>,
}

impl<O, A> AsFd for Reader<O, A> {
    /// Readable when there is an answer.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl<O: Send + 'static, A: Send + 'static> Reader<O, A> {
    /// One that reads by `read`, in a thread of this name. The thread begins with the first order.
    ///
    /// # Errors
    /// When the system has no pipe for it.
    pub fn new(name: &'static str, read: fn(O) -> A) -> io::Result<Self> {
        let (bell, ringer) = io::pipe()?;
        Ok(Self {
            name,
            read,
            thread: None,
            bell,
            ringer,
            began: Instant::now(),
            is_reading: false,
            took: Duration::ZERO,
            is_wanted: false,
        })
    }

    /// Something has changed: the next reading is not to wait.
    pub fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Is it to [begin](Self::begin) now?
    pub fn is_due(&self, now: Instant) -> bool {
        let interval = if self.is_wanted {
            Duration::ZERO
        } else {
            INTERVAL
        };
        let since = now.saturating_duration_since(self.began);
        !self.is_reading && since >= interval.max(self.took * SHARE)
    }

    /// Begins to read.
    ///
    /// # Errors
    /// When the system has no thread for it, which the next time may have.
    pub fn begin(&mut self, order: O, now: Instant) -> io::Result<()> {
        self.began = now;
        if self.thread.is_none() {
            self.thread = Some(self.start()?);
        }
        if let Some(thread) = &self.thread {
            // A thread that has ended says so when it is asked for the answer.
            let _ended = thread.orders.send(order);
        }
        (self.is_reading, self.is_wanted) = (true, false);
        Ok(())
    }

    fn start(&self) -> io::Result<Thread<O, A>> {
        let (orders, ordered) = channel();
        let (answer, answers) = channel();
        let (read, mut bell) = (self.read, self.ringer.try_clone()?);
        let serve = move || {
            for order in ordered {
                let began = Instant::now();
                let sent = answer.send((read(order), began.elapsed()));
                if sent.is_err() || bell.write_all(&[0]).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(self.name.to_owned());
        thread.spawn(serve)?;
        Ok(Thread { orders, answers })
    }

    /// What it has read, if it is done.
    ///
    /// # Errors
    /// When the thread has ended without an answer; the next order starts another.
    pub fn answer(&mut self) -> io::Result<Option<A>> {
        let Some(thread) = &self.thread else {
            return Ok(None);
        };
        let (answer, took) = match thread.answers.try_recv() {
            Err(TryRecvError::Empty) => return Ok(None),
            Err(TryRecvError::Disconnected) => return Err(self.ended()),
            Ok(answer) => answer,
        };
        self.done(took)?;
        Ok(Some(answer))
    }

    /// Waits for what it reads.
    ///
    /// # Errors
    /// As [`Reader::answer`], and when it was not told to read.
    pub fn wait(&mut self) -> io::Result<A> {
        let answer = self.thread.as_ref().map(|thread| thread.answers.recv());
        let Some(Ok((answer, took))) = answer else {
            return Err(self.ended());
        };
        self.done(took)?;
        Ok(answer)
    }

    fn done(&mut self, took: Duration) -> io::Result<()> {
        // The byte comes at once, if it is not there yet.
        self.bell.read_exact(&mut [0])?;
        (self.took, self.is_reading) = (took, false);
        Ok(())
    }

    fn ended(&mut self) -> io::Error {
        (self.thread, self.is_reading) = (None, false);
        io::Error::other(format!("the thread {} ended", self.name))
    }
}
