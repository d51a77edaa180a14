//! Numbered frames of many flows, from the source to the sink, for as long as this lives.
//!
//! A flow is a source port. One thread sends all flows by turns, at an even rate; it leaves frames
//! out when it was kept from running, so that no burst fills a queue. A thread for each node reads
//! what comes by that node's cable.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use crate::count::Frame;

/// The sink's address and port.
const SINK: (Ipv4Addr, u16) = (Ipv4Addr::new(203, 0, 113, 1), 9);
/// Between two looks at the clock.
const TICK: Duration = Duration::from_millis(1);
/// Frames for so many ticks are made up for; what is due longer is left out.
const TICKS_AT_ONCE: u64 = 4;
/// How long a receiver waits before it looks whether it is over.
const LOOK: Duration = Duration::from_millis(100);
/// Room for frames that wait for their receiver, bytes: more than a second's.
const ROOM: usize = 16 << 20;
/// How long the last frames of a window may be under way.
pub const STRAGGLERS: Duration = Duration::from_millis(100);
/// A frame begins with these bytes, the flow and the number.
const MARK: [u8; 4] = *b"lane";
const LENGTH: usize = 12;

/// ns since 1970, the clock of all stamps of a run; the daemons' logs have the same.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// What was sent and what came, a row for each flow.
#[derive(Debug, Default)]
struct Log {
    sent: Vec<Vec<u64>>,
    /// The node of each frame; 0: not yet.
    came: Vec<Vec<u8>>,
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
            sent: vec![Vec::new(); rows],
            came: vec![Vec::new(); rows],
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
        let done = to + STRAGGLERS.as_nanos() as u64;
        thread::sleep(Duration::from_nanos(done.saturating_sub(now())));
        let log = locked(&self.log);
        let within = |at: &u64| (from..to).contains(at);
        let flows = log.sent.iter().zip(&log.came).map(|(sent, came)| {
            let first = sent.partition_point(|&at| at < from);
            let frames = sent.iter().enumerate().skip(first);
            let frames = frames.take_while(|&(_, &at)| at < to);
            let by = |number: usize| came.get(number).copied().filter(|&node| node > 0);
            frames
                .map(|(number, &at)| Frame { at, by: by(number) })
                .collect()
        });
        let pauses = log.pauses.iter().filter(|&&(at, _)| within(&at));
        Window {
            flows: flows.collect(),
            duplicates: log.again.iter().filter(|at| within(at)).count() as u64,
            pause: pauses.map(|&(at, until)| until - at).max().unwrap_or(0),
        }
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
            let number = log.sent[flow].len() as u32;
            let frame = frame(flow as u32, number);
            let at = now();
            // What the source's own kernel refuses was not sent.
            if flows[flow].send_to(&frame, SINK).is_ok() {
                log.sent[flow].push(at);
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
        let mut log = locked(log);
        let Some(came) = log.came.get_mut(flow) else {
            continue;
        };
        if came.len() <= number {
            came.resize(number + 1, 0);
        }
        if came[number] == 0 {
            came[number] = node;
        } else {
            log.again.push(now());
        }
    }
}
