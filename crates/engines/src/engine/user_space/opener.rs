//! Sockets are opened and closed by a thread: the kernel binds one when nobody else changes links,
//! which may be seconds later, and a queue stays taken for a while after its last socket. Whoever
//! follows the kernel must not wait for either.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use fastpath::forward::Way;

use super::hand_over::Received;
use super::{Opened, Sockets, Trouble};
use crate::engine::EngineError;
use crate::engine::workers::Workers;

/// A port that sockets are to be opened on.
#[derive(Debug)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// For sockets that take only what a program says.
    pub filter: Option<OwnedFd>,
    /// For bursts that its sockets would be slow with.
    pub way: Option<Way>,
}

/// What is to be done: `before` is stopped, whose sockets close with it; then sockets are opened.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) before: Workers,
    pub(super) ports: Vec<Wanted>,
    pub(super) cores: usize,
    /// Workers of another process, in the place of any that are opened.
    pub(super) received: Vec<Received>,
}

/// What workers are started with, one each; none without ports.
pub(super) type Outcome = Result<Vec<Opened>, Trouble>;

/// The thread, in the network namespace of who started it. Dropping it waits for the thread.
#[derive(Debug)]
pub(super) struct Opener {
    orders: Option<Sender<Order>>,
    outcomes: Receiver<Outcome>,
    thread: Option<JoinHandle<()>>,
}

impl Opener {
    pub(super) fn start(mut sockets: impl Sockets + 'static) -> Result<Self, EngineError> {
        let (orders, given) = channel::<Order>();
        let (sender, outcomes) = channel();
        let work = move || {
            for mut order in given {
                order.before.stop();
                let received = std::mem::take(&mut order.received);
                let outcome = if received.is_empty() {
                    open(&mut sockets, &order)
                } else {
                    let received = received.into_iter();
                    received
                        .map(|worker| sockets.receive(&order.ports, worker))
                        .collect()
                };
                // Nobody waits any more, and what was opened closes here.
                if sender.send(outcome).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("sockets".to_owned());
        let thread = thread
            .spawn(work)
            .map_err(|error| EngineError::new("starting the thread that opens sockets", error))?;
        Ok(Self {
            orders: Some(orders),
            outcomes,
            thread: Some(thread),
        })
    }

    /// Has it done. Each order has one outcome, in their order.
    pub(super) fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // Without a thread the order is dropped here, and the outcome says so.
            let _ended = orders.send(order);
        }
    }

    /// The next outcome, if it is there.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match self.outcomes.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(ended().into())),
        }
    }

    /// The next outcome, when it is there.
    pub(super) fn wait(&self) -> Outcome {
        self.outcomes.recv().unwrap_or_else(|_| Err(ended().into()))
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

fn ended() -> EngineError {
    EngineError::new("opening sockets", "the thread that opens them has ended")
}

fn open(sockets: &mut impl Sockets, order: &Order) -> Outcome {
    loop {
        match open_all(sockets, order) {
            Err(Trouble::Port(_)) if sockets.give_way() => {}
            outcome => return outcome,
        }
    }
}

fn open_all(sockets: &impl Sockets, order: &Order) -> Outcome {
    if order.ports.is_empty() {
        return Ok(Vec::new());
    }
    let workers = sockets.workers(&order.ports, order.cores)?;
    let workers = workers.min(order.cores);
    let open = |place| sockets.open(&order.ports, place, workers);
    (0..workers).map(open).collect()
}
