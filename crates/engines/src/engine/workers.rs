//! The threads that forward: one worker each, pinned to a core, with a letter-box for changes of
//! its ports. Whatever engine, experiment or test has workers runs them here.
//!
//! A worker with nothing to do looks a while longer, then sleeps until a frame or a letter comes;
//! asleep, it holds nothing of the tables. A port that is down costs it nothing but a moment; any
//! other trouble ends it, and its sockets with it.

mod held;

use std::any::Any;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use fastpath::forward::PortSettings;
use fib::organisation::Reader;
use host::{CoreId, Pinned};
use port::PortError;
use rustix::event::{self, PollFd, PollFlags, Timespec};

use super::EngineError;
use crate::privileges;
use crate::user_plane::{PortCounters, Worker};

/// Rounds without a frame before a worker goes to sleep: some ten microseconds.
const PATIENCE: u32 = 512;
/// Rounds after which a busy worker asks its ports what they lost.
const ASK_EVERY: u32 = 1 << 14;
/// Most rounds after being told to stop: what waits in a ring is sent on, but a flood is not waited
/// for.
const LAST_ROUNDS: u32 = 256;
/// The longest sleep.
const LONGEST_SLEEP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
/// The pause when a port cannot be waited for, because it is down or gone.
const PAUSE: Duration = Duration::from_millis(1);
/// How long a letter may stay unread: a worker reads between two bursts.
const LETTER_WAIT: Duration = Duration::from_millis(500);

/// What a worker is to change between two bursts.
#[derive(Debug)]
struct Letters {
    /// Says without a lock that something is in the box.
    waiting: AtomicBool,
    settings: Mutex<Vec<(u32, PortSettings)>>,
    read: Condvar,
    asked: held::Question,
}

impl Letters {
    fn open(&self) -> MutexGuard<'_, Vec<(u32, PortSettings)>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker's side: does what the letters say, then says that it is done.
    fn read(&self, mut act: impl FnMut((u32, PortSettings))) {
        let mut settings = self.open();
        self.waiting.store(false, Ordering::Relaxed);
        settings.drain(..).for_each(&mut act);
        drop(settings);
        self.read.notify_all();
    }
}

/// The cells that a worker counts in for a port: interface index, core, cells.
pub(crate) type Cells = (u32, u32, Arc<PortCounters>);

/// One running worker.
#[derive(Debug)]
struct Running {
    core: CoreId,
    handle: Option<JoinHandle<Result<(), PortError>>>,
    letters: Arc<Letters>,
    bell: PipeWriter,
    /// Tells it to go on, while it is held.
    held: Option<Sender<()>>,
    /// By interface index.
    counters: Vec<(u32, Arc<PortCounters>)>,
}

/// Workers that are running. Dropping them stops them.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    stop: Arc<AtomicBool>,
    /// A port that is gone ends its worker, and does not merely bring no frames.
    steady_ports: bool,
    running: Vec<Running>,
}

impl Workers {
    /// Workers whose ports nobody opens again: one that is gone ends its worker.
    pub(crate) fn of_steady_ports() -> Self {
        let mut workers = Self::default();
        workers.steady_ports = true;
        workers
    }

    /// Starts one more, on `core`. `counters` are those of its ports, by interface index.
    pub(crate) fn start<R: Reader + 'static>(
        &mut self,
        mut worker: Worker<R>,
        core: CoreId,
        counters: Vec<(u32, Arc<PortCounters>)>,
    ) -> Result<(), EngineError> {
        let failed = |error: std::io::Error| EngineError::new("starting a worker", error);
        let (ear, bell) = std::io::pipe().map_err(failed)?;
        let letters = Arc::new(Letters {
            waiting: AtomicBool::new(false),
            settings: Mutex::new(Vec::new()),
            read: Condvar::new(),
            asked: held::Question::default(),
        });
        worker.readers().for_each(Reader::offline);
        let (stop, box_of_it) = (Arc::clone(&self.stop), Arc::clone(&letters));
        let steady_ports = self.steady_ports;
        let handle = std::thread::Builder::new()
            .name(format!("worker-{}", self.running.len()))
            .spawn(move || {
                // The core was allowed a moment ago; without it the worker runs where there is
                // room.
                let _pinned = Pinned::to(core);
                // Its sockets are open: it needs no right any more.
                let _kept = privileges::give_up();
                run(worker, &box_of_it, &ear, &stop, steady_ports)
            })
            .map_err(failed)?;
        self.running.push(Running {
            core,
            handle: Some(handle),
            letters,
            bell,
            held: None,
            counters,
        });
        Ok(())
    }

    /// Has every worker act by these settings of the port with this number; returns when they do.
    pub(super) fn set_port(&mut self, number: u32, settings: &PortSettings) {
        for worker in &mut self.running {
            worker.letters.open().push((number, settings.clone()));
            worker.letters.waiting.store(true, Ordering::Release);
            // A full pipe rings already; a worker that has ended reads nothing.
            let _rung = worker.bell.write(&[1]);
        }
        for worker in &self.running {
            let unread = |settings: &mut Vec<_>| !settings.is_empty();
            let letters = &worker.letters;
            // One who has ended reads nothing: [`Workers::ended`] tells.
            let _read = letters
                .read
                .wait_timeout_while(letters.open(), LETTER_WAIT, unread);
        }
    }

    /// The cells that they count in.
    pub(crate) fn counters(&self) -> impl Iterator<Item = Cells> {
        self.running.iter().flat_map(|worker| {
            let cells = worker.counters.iter();
            cells.map(|(ifindex, cells)| (*ifindex, worker.core.0, Arc::clone(cells)))
        })
    }

    /// Takes the first worker that has ended by itself out of these; its core and why it ended.
    pub(super) fn take_ended(&mut self) -> Option<(CoreId, String)> {
        let core = self.ended()?;
        let worker = self.running.iter_mut().find(|worker| worker.core == core)?;
        let why = why_ended(worker.handle.take()?);
        Some((core, why.unwrap_or_default()))
    }

    /// Takes them all, for somebody else to wait until they have stopped: what they have received is
    /// on its way then.
    pub(super) fn leave(&mut self) -> Self {
        let left = std::mem::take(self);
        self.steady_ports = left.steady_ports;
        left.tell_to_stop();
        left
    }

    /// The first worker that has ended by itself.
    pub(crate) fn ended(&self) -> Option<CoreId> {
        let over = |worker: &&Running| worker.handle.as_ref().is_some_and(JoinHandle::is_finished);
        self.running.iter().find(over).map(|worker| worker.core)
    }

    /// Stops all, when what they have received is on its way; the first reason for which one had
    /// ended before.
    pub(crate) fn stop(&mut self) -> Option<String> {
        self.tell_to_stop();
        let mut reason = None;
        for mut worker in self.running.drain(..) {
            worker.held = None;
            let why = worker.handle.take().and_then(why_ended);
            reason = reason.or(why);
        }
        self.stop = Arc::default();
        reason
    }

    fn tell_to_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        for worker in &self.running {
            // A full pipe rings already.
            let _rung = (&worker.bell).write(&[1]);
        }
    }
}

/// Waits for a thread; why its worker had ended, if nobody told it to.
fn why_ended(thread: JoinHandle<Result<(), PortError>>) -> Option<String> {
    match thread.join() {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(format!("it panicked: {}", said(&*panic))),
    }
}

/// The words of a panic.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}

impl Drop for Workers {
    fn drop(&mut self) {
        let _reason = self.stop();
    }
}

fn run<R: Reader>(
    mut worker: Worker<R>,
    letters: &Letters,
    ear: &PipeReader,
    stop: &AtomicBool,
    steady_ports: bool,
) -> Result<(), PortError> {
    worker.readers().for_each(Reader::online);
    let (mut idle, mut rounds, mut last) = (0, 0_u32, 0);
    let result = loop {
        if letters.waiting.load(Ordering::Acquire) {
            letters.read(|(number, settings)| {
                // Settings for a port that this worker has not got concern another.
                let _not_ours = worker.set_port(number, settings);
            });
            if !letters.answer(&mut worker) {
                break Ok(());
            }
        }
        let received = match worker.run_burst() {
            Ok(received) => received,
            Err(PortError::Gone { .. }) if !steady_ports => 0,
            Err(error) => break Err(error),
        };
        if stop.load(Ordering::Relaxed) {
            last += 1;
            if received == 0 || last == LAST_ROUNDS {
                break Ok(());
            }
        }
        idle = if received == 0 { idle + 1 } else { 0 };
        rounds = rounds.wrapping_add(1);
        if rounds.is_multiple_of(ASK_EVERY) {
            worker.refresh_missed();
        }
        if idle >= PATIENCE {
            idle = 0;
            worker.refresh_missed();
            worker.readers().for_each(Reader::offline);
            sleep(&worker, ear);
            worker.readers().for_each(Reader::online);
        }
    };
    worker.refresh_missed();
    worker.readers().for_each(Reader::offline);
    result
}

/// Waits for a frame on any port or for the bell, but not for ever.
fn sleep<R: Reader>(worker: &Worker<R>, mut ear: &PipeReader) {
    let ports = worker.ports().filter_map(port::Port::readable);
    let entry = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
    let mut sleepers: Vec<_> = std::iter::once(ear.as_fd())
        .chain(ports)
        .map(entry)
        .collect();
    if event::poll(&mut sleepers, Some(&LONGEST_SLEEP)).is_err() {
        return;
    }
    let trouble = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    if sleepers[0].revents().contains(PollFlags::IN) {
        // One call takes all that is there; who rang has written it.
        let _heard = ear.read(&mut [0; 64]);
    } else if sleepers[1..]
        .iter()
        .any(|port| port.revents().intersects(trouble))
    {
        std::thread::sleep(PAUSE);
    }
}
