//! All sockets are closed and opened anew, by the [`opener`](super::opener): what stops before, what
//! starts after, and what becomes of a port that stands in the way.

use std::os::fd::AsFd;
use std::time::Instant;

use fib::organisation::TableReader;

use super::opener::{Order, Outcome, Wanted};
use super::{Attached, Opened, OpenedPort, Sockets, UserSpace, left_to_kernel};
use crate::engine::{EngineError, Port};
use crate::user_plane::Worker;

/// What the thread is at.
#[derive(Debug, Default)]
pub(super) struct Opening {
    /// The port that comes, for which all this is done.
    joining: Option<Port>,
    /// The ports have changed meanwhile: what it opens is of no use.
    again: bool,
    /// The workers rest: it opens nothing.
    rests: bool,
}

impl<S: Sockets + 'static> UserSpace<S> {
    /// Opens all sockets, starts all workers and lets frames through; returns when that is done.
    pub(super) fn start(&mut self) -> Result<(), EngineError> {
        self.restart();
        let outcome = self.opener.wait();
        self.has_opened();
        self.begin(outcome)
    }

    /// Starts with those ports whose sockets can be opened.
    pub(super) fn start_one_by_one(&mut self) -> Result<(), EngineError> {
        let mut outcome = Ok(());
        for port in std::mem::take(&mut self.ports) {
            let (name, ifindex) = (port.name.clone(), port.ifindex);
            self.ports.push(port);
            outcome = self.start();
            if let Err(error) = &outcome {
                self.forwarder.detach(ifindex);
                self.ports.pop();
                self.failed.add_at_start(&name, error);
            }
        }
        match outcome {
            // The last has failed, and the others rest.
            Err(_) if !self.ports.is_empty() => self.start(),
            outcome => outcome,
        }
    }

    /// Has all sockets opened anew; until then all frames are the kernel's.
    pub(super) fn restart(&mut self) {
        if let Some(opening) = &mut self.opening {
            opening.again = true;
            return;
        }
        self.opening = Some(Opening::default());
        let ports = self.wanted();
        self.order(ports);
    }

    /// The same for one more port, unless the workers rest.
    pub(super) fn join(&mut self, attached: Attached, port: &Port) {
        self.ports.push(attached);
        if self.recovery.is_resting() {
            return;
        }
        self.restart();
        if let Some(opening) = &mut self.opening {
            opening.joining = Some(port.clone());
        }
    }

    /// The port that is coming, by its interface index.
    pub(super) fn joining(&self) -> Option<u32> {
        let joining = self.opening.as_ref()?.joining.as_ref()?;
        Some(joining.ifindex)
    }

    /// Stops the workers. They rest until they are started again.
    pub(super) fn rest(&mut self) {
        self.opening = Some(Opening {
            rests: true,
            ..Opening::default()
        });
        self.order(Vec::new());
    }

    /// A port is left out of what is opened.
    pub(super) fn leave_out(&mut self, ifindex: u32) {
        if self.joining() == Some(ifindex)
            && let Some(opening) = &mut self.opening
        {
            opening.joining = None;
        }
        self.forwarder.detach(ifindex);
        self.ports.retain(|one| one.ifindex != ifindex);
    }

    /// The thread is done.
    pub(super) fn opened(&mut self, outcome: Outcome) {
        let Some(opening) = self.has_opened() else {
            return;
        };
        if opening.rests {
            return;
        }
        if opening.again {
            self.restart();
            if let Some(opened) = &mut self.opening {
                opened.joining = opening.joining;
            }
            return;
        }
        let Err(error) = self.begin(outcome) else {
            return;
        };
        let now = Instant::now();
        if let Some(port) = opening.joining {
            // The others go on without it.
            self.leave_out(port.ifindex);
            // The kernel will say that an interface is gone.
            if port.is_there() {
                self.failed.add(&port, &error, now);
            }
            self.restart();
        } else {
            let pause = self.recovery.ended(now).as_secs();
            self.rest();
            let why = format!("{error}; {}", left_to_kernel(pause));
            let doing = "starting the workers again";
            self.failed.say(EngineError::new(doing, why));
        }
    }

    /// The workers of before have stopped: what they counted is past.
    fn has_opened(&mut self) -> Option<Opening> {
        for (ifindex, core, cells) in std::mem::take(&mut self.leaving) {
            *self.past.entry((ifindex, core)).or_default() += &cells.read();
        }
        self.opening.take()
    }

    /// Starts the workers with what has been opened, and lets frames through.
    fn begin(&mut self, outcome: Outcome) -> Result<(), EngineError> {
        let opened = outcome?.into_iter();
        let ready = opened.map(|opened| self.worker(opened));
        let ready = ready.collect::<Result<Vec<_>, _>>();
        let started = ready.and_then(|ready| self.start_all(ready));
        if started.is_err() {
            self.hold_back();
        }
        started?;
        self.let_all_through()
    }

    /// Starts these workers, on the last of the cores.
    pub(super) fn start_all(&mut self, ready: Vec<Ready>) -> Result<(), EngineError> {
        let first = self.cores.len() - ready.len();
        for ((worker, counters), core) in ready.into_iter().zip(&self.cores[first..]) {
            self.workers.start(worker, *core, counters)?;
        }
        self.recovery.started();
        Ok(())
    }

    /// Lets the frames of all ports through, as far as they are told to.
    pub(super) fn let_all_through(&mut self) -> Result<(), EngineError> {
        for at in 0..self.ports.len() {
            if let Some(told) = self.ports[at].told.clone() {
                self.let_through(&told)?;
            }
        }
        Ok(())
    }

    /// A worker with what has been opened for it, and its counters by interface index.
    pub(super) fn worker(&mut self, (pool, opened): Opened) -> Result<Ready, EngineError> {
        let doing = |error: &dyn std::fmt::Display| EngineError::new("starting a worker", error);
        let readers = self.forwarder.readers().map_err(|error| doing(&error))?;
        let mut worker = Worker::new(readers, pool);
        let mut counters = Vec::with_capacity(opened.len());
        for (at, port) in opened.into_iter().enumerate() {
            let port_of_it = &mut self.ports[at];
            port_of_it.open = port.is_some();
            let Some(OpenedPort {
                port,
                queues,
                zero_copy,
                busy_poll,
            }) = port
            else {
                continue;
            };
            (port_of_it.zero_copy, port_of_it.busy_poll) = (zero_copy, busy_poll);
            let ifindex = port_of_it.ifindex;
            for (queue, socket) in queues {
                let set = self.forwarder.set_socket(ifindex, queue, socket);
                set.map_err(|error| doing(&error))?;
            }
            let (number, settings) = self.settings(at)?;
            let cells = worker
                .attach(port, number, settings)
                .map_err(|error| doing(&error))?;
            counters.push((ifindex, cells));
        }
        Ok((worker, counters))
    }

    /// What the thread is to open. What has no filter any more is going.
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        let wanted = |port: &Attached| Wanted {
            name: port.name.clone(),
            filter: S::FILTERED
                .then(|| self.forwarder.filter(port.ifindex).ok())
                .flatten()
                .and_then(|filter| filter.as_fd().try_clone_to_owned().ok()),
            way: self.forwarder.way(port.ifindex),
        };
        self.ports.iter().map(wanted).collect()
    }

    /// Gives all frames to the kernel, and has the thread stop all workers and open `ports`.
    fn order(&mut self, ports: Vec<Wanted>) {
        self.is_described = false;
        self.hold_back();
        self.leaving.extend(self.workers.counters());
        let before = self.workers.leave();
        let cores = self.cores.len();
        self.opener.order(Order {
            before,
            ports,
            cores,
            received: Vec::new(),
        });
    }
}

/// A worker that can be started.
pub(super) type Ready = (
    Worker<TableReader>,
    Vec<(u32, std::sync::Arc<crate::user_plane::PortCounters>)>,
);

impl<S: Sockets> UserSpace<S> {
    /// Gives all frames to the kernel; what has been let through is with the workers then.
    pub(super) fn hold_back(&mut self) {
        for at in 0..self.ports.len() {
            if let Some(mut told) = self.ports[at].told.clone() {
                told.settings.enabled = false;
                // A port that is gone lets nothing through either.
                let _gone = self.let_through(&told);
            }
            self.ports[at].open = false;
        }
        // What the program has let through is in the rings, which the workers empty; without that wait
        // some would come to nobody.
        let _kernel_refused = self.forwarder.wait_for_readers();
    }
}
