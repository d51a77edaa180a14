//! Workers behind sockets go from one process to another ([`hand_over`](crate::engine::hand_over)).

use std::fmt::Display;
use std::fs::File;

use bpf::attach::Mode;
use fastpath::forward::{Capacity, Place, PortCounts};
use port::pool::Layout;
use port::xsk;

use super::opener::Order;
use super::restart::Opening;
use super::{Attached, Sockets, UserSpace};
use crate::engine::EngineError;
use crate::engine::hand_over::{HandOver, Handed, Port, Socket, Worker};
use crate::engine::workers::Workers;
use crate::user_plane::HandedWorker;

/// A worker of another process. Of each port, in their order, its sockets: none while it was down.
#[derive(Debug)]
pub struct Received {
    /// How its memory is cut.
    pub layout: Layout,
    /// Its memory.
    pub memory: File,
    /// Name and sockets of each port.
    pub ports: Vec<(String, Vec<xsk::Handed>)>,
}

impl<S: Sockets + 'static> UserSpace<S> {
    /// For ports that another process is attached to, in these modes. Its links and its workers
    /// come later.
    ///
    /// # Errors
    /// As [`UserSpace::open`].
    pub fn open_elsewhere(
        ports: &[(String, u32, Mode)],
        sockets: S,
        capacity: Capacity,
    ) -> Result<Self, EngineError> {
        let mut engine = Self::empty(sockets, capacity)?;
        for (name, ifindex, mode) in ports {
            let place = Place::Elsewhere(*mode);
            let attached = engine.forwarder.attach_at(name, *ifindex, place);
            engine.ports.push(Attached::of(name, attached)?);
        }
        engine.opening = Some(Opening::default());
        Ok(engine)
    }

    /// As the other process must know it, and its descriptors.
    fn described(&self, worker: HandedWorker, handed: &mut Handed) -> Result<(), EngineError> {
        handed.descriptors.push(worker.memory.into());
        let mut ports = Vec::with_capacity(worker.ports.len());
        for (number, sockets) in worker.ports {
            let mut all = self.ports.iter();
            let place = |port: &&Attached| self.forwarder.place(port.ifindex).ok();
            let of_it = all.find(|port| place(port) == Some(number));
            let Some(port) = of_it else {
                return Err(failed(&"a port has gone; try again"));
            };
            if sockets.is_empty() {
                let what = format!("the sockets of port {} stay where they are", port.name);
                return Err(failed(&what));
            }
            let mut sockets_of_it = Vec::with_capacity(sockets.len());
            for socket in sockets {
                handed.descriptors.push(socket.socket);
                sockets_of_it.push(Socket {
                    queue: socket.queue,
                    ring: socket.ring,
                    scattered: socket.scattered,
                    busy_poll: socket.busy_poll,
                });
            }
            ports.push(Port {
                ifindex: port.ifindex,
                sockets: sockets_of_it,
            });
        }
        handed.workers.push(Worker {
            buffers: worker.layout.buffers,
            stride: worker.layout.stride,
            headroom: worker.layout.headroom,
            ports,
        });
        Ok(())
    }

    fn received(&self, handed: Handed) -> Result<Vec<Received>, EngineError> {
        let mut descriptors = handed.descriptors.into_iter();
        let mut next = || {
            descriptors
                .next()
                .ok_or_else(|| failed(&"a descriptor is missing"))
        };
        let mut workers = Vec::with_capacity(handed.workers.len());
        for worker in handed.workers {
            let memory = next()?.into();
            let names = self
                .ports
                .iter()
                .map(|port| (port.name.clone(), Vec::new()));
            let mut ports: Vec<_> = names.collect();
            for port in worker.ports {
                let at = self
                    .ports
                    .iter()
                    .position(|one| one.ifindex == port.ifindex);
                let Some(at) = at else {
                    let what = format!(
                        "interface {} is a port of the running router and none here; name it, or \
                         restart the router",
                        port.ifindex
                    );
                    return Err(failed(&what));
                };
                for socket in port.sockets {
                    ports[at].1.push(xsk::Handed {
                        socket: next()?,
                        queue: socket.queue,
                        ring: socket.ring,
                        scattered: socket.scattered,
                        busy_poll: socket.busy_poll,
                    });
                }
            }
            let layout = Layout::chunks(worker.buffers, worker.stride, worker.headroom);
            workers.push(Received {
                layout,
                memory,
                ports,
            });
        }
        Ok(workers)
    }
}

impl<S: Sockets + 'static> HandOver for UserSpace<S> {
    fn describe(&mut self) -> Result<Handed, EngineError> {
        if self.opening.is_some() || self.recovery.is_resting() {
            return Err(failed(&"sockets are being opened; try again"));
        }
        let mut handed = Handed {
            workers: Vec::new(),
            descriptors: Vec::new(),
        };
        for worker in self.workers.describe().map_err(|error| failed(&error))? {
            self.described(worker, &mut handed)?;
        }
        self.is_described = true;
        Ok(handed)
    }

    fn hold(&mut self) -> Result<PortCounts, EngineError> {
        if !self.is_described {
            return Err(failed(&"sockets have been opened anew; try again"));
        }
        self.workers.hold().map_err(|error| failed(&error))?;
        let mut counted = self.past.clone();
        for (ifindex, core, cells) in self.workers.counters() {
            let mut of_it = cells.read();
            of_it.missed = 0;
            *counted.entry((ifindex, core)).or_default() += &of_it;
        }
        Ok(counted)
    }

    fn go_on(&mut self) {
        self.workers.go_on();
    }

    fn let_go(&mut self) {
        self.leaving.extend(self.workers.counters());
        // Held as they are, they touch nothing any more.
        let _none_had_ended = self.workers.stop();
    }

    fn receive(&mut self, handed: Handed) -> Result<(), EngineError> {
        let (workers, cores) = (handed.workers.len(), self.cores.len());
        if workers > cores {
            let what = format!(
                "the running router has {workers} workers, and {cores} cores are allowed here; \
                 allow more, or restart the router"
            );
            return Err(failed(&what));
        }
        let received = self.received(handed)?;
        self.opener.order(Order {
            before: Workers::default(),
            ports: self.wanted(),
            cores,
            received,
        });
        for opened in self.opener.wait()? {
            let worker = self.worker(opened)?;
            self.received.push(worker);
        }
        self.let_all_through()
    }

    fn take_up(&mut self) -> Result<(), EngineError> {
        let mut workers = self.received.iter_mut();
        workers
            .try_for_each(|(worker, _)| worker.go_on())
            .map_err(|error| failed(&error))
    }

    fn begin(&mut self, counted: PortCounts) -> Result<(), EngineError> {
        self.opening = None;
        let received = std::mem::take(&mut self.received);
        self.start_all(received)?;
        for (place, count) in counted {
            *self.past.entry(place).or_default() += &count;
        }
        // One has come up meanwhile.
        let is_enabled =
            |port: &Attached| port.told.as_ref().is_some_and(|told| told.settings.enabled);
        if self.ports.iter().any(|port| is_enabled(port) && !port.open) {
            self.restart();
        }
        Ok(())
    }
}

fn failed(why: &dyn Display) -> EngineError {
    EngineError::new("handing workers over", why)
}
