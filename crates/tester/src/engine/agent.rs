//! The far machine: receives what the other sends and tells what came, or sends it back.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{Receiver as Messages, TryRecvError, channel};
use std::thread;

use host::clock::now_ns;
use port::Burst;

use super::Engine;
use super::clocks::Clocks;
use super::protocol::{Open, Reply, Request, VERSION, Watch, hear, say};
use super::receiver::Receiver;
use super::record::Arrived;
use crate::capture::Departures;
use crate::link::Link;
use crate::rig::{Result, RigError};

/// The port that the frames come out of, by the sender's numbers.
const PORT: u8 = 1;

/// Serves one sender until it hangs up. `open` opens the port that it names.
///
/// # Errors
/// The streams to the sender failed. Failures of the port are told to the sender.
pub fn serve<L: Link>(
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
    open: impl Fn(&Open) -> Result<Engine<L>>,
) -> io::Result<()> {
    let (sender, requests) = channel();
    // The receiving loop must not wait for lines, so another thread does.
    thread::spawn(move || {
        let mut input = input;
        while let Ok(Some(request)) = hear::<Request>(&mut input) {
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    let mut engine = None;
    while let Ok(request) = requests.recv() {
        let reply = match (request, &mut engine) {
            (Request::Hello, _) => Reply::Hello {
                version: VERSION.to_owned(),
                clocks: Clocks::read(),
            },
            (Request::Open(port), place) => match open(&port) {
                Ok(opened) => {
                    let what = opened.link.describe();
                    *place = Some(opened);
                    Reply::Ready { what }
                }
                Err(error) => Reply::Error(error.to_string()),
            },
            (request @ (Request::Begin(_) | Request::Reflect), Some(engine)) => {
                let ready = Reply::Ready {
                    what: String::new(),
                };
                let begun = engine.drain().and_then(|()| Ok(say(&mut output, &ready)?));
                let ended = begun.and_then(|()| match &request {
                    Request::Begin(watch) => {
                        let arrived = engine.watch(watch, &requests)?;
                        Ok(Reply::Arrived(Box::new(arrived)))
                    }
                    _ => Ok(Reply::Reflected(engine.reflect(&requests)?)),
                });
                match ended {
                    Ok(reply) => reply,
                    Err(RigError::Interrupted) => return Ok(()),
                    Err(error) => Reply::Error(error.to_string()),
                }
            }
            (Request::Begin(_) | Request::Reflect, None) => {
                Reply::Error("no port is open".to_owned())
            }
            (Request::Finish(_), _) => Reply::Error("no trial has begun".to_owned()),
        };
        say(&mut output, &reply)?;
    }
    Ok(())
}

impl<L: Link> Engine<L> {
    /// Receives until the sender says how much it sent and that has come, or the wait for it is
    /// over.
    fn watch(&mut self, watch: &Watch, requests: &Messages<Request>) -> Result<Arrived> {
        let order = watch.order();
        let streams = [(0, PORT)];
        let mut receiver = Receiver::new(&streams, &order, watch.trial, &Departures::new());
        let mut burst = Burst::new();
        let shift = |time: u64| time.wrapping_add_signed(watch.clock_plus_ns.unwrap_or(0));
        let mut sent: Option<(Vec<u32>, u64)> = None;
        loop {
            let now = now_ns();
            let came = self.link.receive(0, &mut self.pool, &mut burst, now)? > 0;
            if came {
                receiver.take(PORT, &self.pool, &burst, shift(now_ns()));
                self.pool.release_all(&mut burst);
            }
            if let Some((_, since)) = sent {
                if !came && receiver.is_done(shift(since), shift(now), &watch.waits) {
                    break;
                }
                continue;
            }
            match requests.try_recv() {
                Ok(Request::Finish(frames)) => {
                    receiver.expect(&frames);
                    sent = Some((frames, now));
                }
                // The sender has gone, or talks nonsense.
                Ok(_) | Err(TryRecvError::Disconnected) => return Err(RigError::Interrupted),
                Err(TryRecvError::Empty) => {}
            }
        }
        let (sent, _) = sent.unwrap_or_default();
        let mut arrived = receiver.finish(&sent);
        arrived.counts.tester_dropped = self.link.missed() - self.missed;
        if watch.clock_plus_ns.is_none() {
            arrived.latency = None;
        }
        arrived.response = None;
        Ok(arrived)
    }
}
