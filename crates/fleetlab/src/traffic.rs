//! Numbered frames of many flows, from the source to the sink, for as long as this lives.
//!
//! A flow is a source port. One thread sends all flows by turns, at an even rate; it leaves frames
//! out when it was kept from running, so that no burst fills a queue. A thread for each node reads
//! what comes by that node's cable.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use crate::count::{Arrival, Frame};
use crate::stamp::stamp;

/// The sink's address and port.
const SINK: (Ipv4Addr, u16) = (Ipv4Addr::new(203, 0, 113, 1), 9);
/// The same for frames that nobody reads.
const WELL: (Ipv4Addr, u16) = (SINK.0, 10);
/// Between two looks at the clock.
const TICK: Duration = Duration::from_millis(1);
/// Frames for so many ticks are made up for; what is due longer is left out.
const TICKS_AT_ONCE: u64 = 4;
/// How long a receiver waits before it looks whether it is over.
const LOOK: Duration = Duration::from_millis(100);
/// Room for frames that wait for their receiver, bytes: more than a second's.
const ROOM: usize = 16 << 20;
/// How long a frame may be under way, ns.
pub const STRAGGLERS: u64 = 100_000_000;
/// A frame begins with these bytes, the flow and the number.
const MARK: [u8; 4] = *b"lane";
const LENGTH: usize = 12;

/// ns since 1970, the clock of all stamps of a run; the daemons' logs have the same.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// A flow's frames that are not forgotten, in the order of their numbers.
#[derive(Clone, Debug, Default)]
struct Row {
    /// Frames that are.
    forgotten: usize,
    frames: VecDeque<Frame>,
}

/// What was sent and what came, a row for each flow.
#[derive(Debug, Default)]
struct Log {
    rows: Vec<Row>,
    /// When frames came once more.
    again: Vec<u64>,
    /// When the sender was kept from running, until when.
    pauses: Vec<(u64, u64)>,
}

/// The frames that were sent between two moments.
#[derive(Debug, Default)]
pub struct Window {
    /// The frames of each flow in the order of their numbers.
    pub flows: Vec<Vec<Frame>>,
    /// Frames that came twice.
    pub duplicates: u64,
    /// The longest time in which the sender was kept from running, ns.
    pub pause: u64,
}

/// Traffic that goes on until it is dropped.
#[derive(Debug)]
pub struct Traffic {
    log: Arc<Mutex<Log>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// A socket for each flow, from the port `first` on. To be called in the source's namespace.
///
/// # Errors
/// The kernel's.
pub fn flows(first: u16, count: u16) -> io::Result<Vec<UdpSocket>> {
    (first..first.saturating_add(count))
        .map(|port| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)))
        .collect()
}

/// A socket for what a node's sink gets. To be called in that namespace.
///
/// # Errors
/// The kernel's.
pub fn sink() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SINK)?;
    set_socket_recv_buffer_size_force(&socket, ROOM)?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

impl Traffic {
    /// Sends `rate` frames a second, all flows together, until dropped. The sinks are those of the
    /// nodes 1, 2 and so on.
    pub fn start(flows: Vec<UdpSocket>, sinks: Vec<UdpSocket>, rate: u32) -> Self {
        let rows = flows.len();
        let log = Arc::new(Mutex::new(Log {
            rows: vec![Row::default(); rows],
            ..Log::default()
        }));
        let over = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for (node, socket) in (1..).zip(sinks) {
            let (log, over) = (Arc::clone(&log), Arc::clone(&over));
            threads.push(thread::spawn(move || receive(&socket, node, &log, &over)));
        }
        let shared = (Arc::clone(&log), Arc::clone(&over));
        threads.push(thread::spawn(move || {
            send(&flows, u64::from(rate), &shared.0, &shared.1);
        }));
        Self { log, over, threads }
    }

    /// The frames sent from `from` until `to`, ns. What is under way is waited for.
    pub fn window(&self, from: u64, to: u64) -> Window {
        thread::sleep(Duration::from_nanos(
            (to + STRAGGLERS).saturating_sub(now()),
        ));
        let log = locked(&self.log);
        let within = |at: &u64| (from..to).contains(at);
        let flows = log.rows.iter().map(|row| {
            let frames = row.frames.iter().copied();
            frames.filter(|frame| within(&frame.at)).collect()
        });
        let pauses = log.pauses.iter().filter(|&&(at, _)| within(&at));
        Window {
            flows: flows.collect(),
            duplicates: log.again.iter().filter(|at| within(at)).count() as u64,
            pause: pauses.map(|&(at, until)| until - at).max().unwrap_or(0),
        }
    }

    /// When the last of the frames that never came was sent, from `from` on, ns. Those that may be
    /// under way do not count.
    pub fn last_lost(&self, from: u64) -> Option<u64> {
        let to = now().saturating_sub(STRAGGLERS);
        let log = locked(&self.log);
        let of = |row: &Row| {
            let frames = row.frames.iter().rev();
            let mut frames = frames.take_while(|frame| frame.at >= from);
            frames.find_map(|frame| (frame.at < to && frame.came.is_none()).then_some(frame.at))
        };
        log.rows.iter().filter_map(of).max()
    }

    /// Forgets the frames that were sent before, ns, and what befell them.
    pub fn forget(&self, before: u64) {
        let mut log = locked(&self.log);
        for row in &mut log.rows {
            while row.frames.front().is_some_and(|frame| frame.at < before) {
                row.frames.pop_front();
                row.forgotten += 1;
            }
        }
        log.again.retain(|&at| at >= before);
        log.pauses.retain(|&(_, until)| until >= before);
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // Its panic has been printed.
            let _ended = thread.join();
        }
    }
}

/// Frames without numbers, as fast as they go, until this is dropped.
#[derive(Debug)]
pub struct Flood {
    over: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Flood {
    /// A thread for each of the lists of sockets sends by them in turn.
    pub fn start(senders: Vec<Vec<UdpSocket>>) -> Self {
        let (over, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let threads = senders.into_iter().map(|sockets| {
            let (over, sent) = (Arc::clone(&over), Arc::clone(&sent));
            thread::spawn(move || {
                while !over.load(Ordering::Acquire) {
                    let frame = [0; LENGTH];
                    let gone = sockets
                        .iter()
                        .filter(|socket| socket.send_to(&frame, WELL).is_ok());
                    sent.fetch_add(gone.count() as u64, Ordering::Relaxed);
                }
            })
        });
        let threads = threads.collect();
        Self {
            over,
            sent,
            threads,
        }
    }

    /// Frames that the source's kernel has taken so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // Its panic has been printed.
            let _ended = thread.join();
        }
    }
}

/// A socket that takes the frames of a [`Flood`] and is never read. To be called in a sink's
/// namespace.
///
/// # Errors
/// The kernel's.
pub fn well() -> io::Result<UdpSocket> {
    UdpSocket::bind(WELL)
}

fn locked(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send(flows: &[UdpSocket], rate: u64, log: &Mutex<Log>, over: &AtomicBool) {
    let (began, mut dealt, mut turn) = (Instant::now(), 0, 0);
    let most = TICKS_AT_ONCE * (rate / 1000 + 1);
    let mut before = now();
    while !over.load(Ordering::Acquire) {
        thread::sleep(TICK);
        let at = now();
        let due = (began.elapsed().as_nanos() * u128::from(rate) / 1_000_000_000) as u64;
        let mut log = locked(log);
        if due - dealt > most {
            log.pauses.push((before, at));
        }
        for _ in 0..(due - dealt).min(most) {
            let flow = turn % flows.len();
            let row = &mut log.rows[flow];
            let number = row.forgotten + row.frames.len();
            let at = now();
            // What the source's own kernel refuses was not sent.
            let frame = frame(flow as u32, number as u32);
            if flows[flow].send_to(&frame, SINK).is_ok() {
                row.frames.push_back(Frame { at, came: None });
            }
            turn += 1;
        }
        dealt = due;
        before = at;
    }
}

fn frame(flow: u32, number: u32) -> [u8; LENGTH] {
    let mut frame = [0; LENGTH];
    frame[..4].copy_from_slice(&MARK);
    frame[4..8].copy_from_slice(&flow.to_be_bytes());
    frame[8..].copy_from_slice(&number.to_be_bytes());
    frame
}

/// The flow and the number of a frame of ours.
fn read(frame: &[u8]) -> Option<(usize, usize)> {
    let rest = frame.strip_prefix(&MARK)?;
    let (flow, number) = (rest.first_chunk()?, rest.last_chunk()?);
    let of = |bytes: &[u8; 4]| u32::from_be_bytes(*bytes) as usize;
    (frame.len() == LENGTH).then(|| (of(flow), of(number)))
}

fn receive(socket: &UdpSocket, node: u8, log: &Mutex<Log>, over: &AtomicBool) {
    let mut frame = [0; 2048];
    while !over.load(Ordering::Acquire) {
        // Nothing came for a while.
        let Ok(length) = socket.recv(&mut frame) else {
            continue;
        };
        let Some((flow, number)) = read(&frame[..length]) else {
            continue;
        };
        // The first of a socket has none, and comes long before any event.
        let at = stamp(socket).unwrap_or_else(now);
        let mut log = locked(log);
        let Some(row) = log.rows.get_mut(flow) else {
            continue;
        };
        let place = number.checked_sub(row.forgotten);
        let Some(frame) = place.and_then(|place| row.frames.get_mut(place)) else {
            continue;
        };
        if frame.came.is_none() {
            frame.came = Some(Arrival { by: node, at });
        } else {
            log.again.push(at);
        }
    }
}
