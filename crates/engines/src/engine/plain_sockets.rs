//! Workers between Linux interfaces, through packet sockets, by tables that somebody else fills,
//! and without a program in the kernel: for kernels that have no BPF. It is no engine that
//! `corelane run` starts.
//!
//! One worker on each core given, each with a port on every interface; the kernel spreads what an
//! interface receives over them by flow. A next hop names its egress by interface index. Frames
//! that are not forwarded stay the kernel's, which has a copy of every one of them.
//!
//! The kernel must forward nothing here: switch `ip_forward` off in the namespace of the
//! interfaces, or every frame leaves twice. An interface that vanishes ends its workers, for there
//! is nobody to wait for it.

use fastpath::forward::{Accepts, PortCount, PortSettings};
use fib::organisation::Organisation;
use host::{CoreId, Pinned};
use port::Pool;
use port::packet::{PacketPort, longest_frame};
use port::pool::Layout;

use super::EngineError;
use super::af_packet::BUFFERS;
use super::workers::Workers;
use crate::user_plane::Worker;

/// Workers that are running. Dropping it stops them.
#[derive(Debug)]
pub struct PlainSockets(Workers);

impl PlainSockets {
    /// Opens the interfaces in the network namespace of the calling thread and starts a worker on
    /// each core.
    ///
    /// # Errors
    /// When an interface or a core cannot be used; nothing runs then.
    pub fn start<O>(tables: &O, interfaces: &[&str], cores: &[CoreId]) -> Result<Self, EngineError>
    where
        O: Organisation,
        O::Reader: 'static,
    {
        let mut workers = Workers::of_steady_ports();
        // Sockets of one process and namespace share; the number only keeps programs apart.
        let group = (cores.len() > 1).then(|| std::process::id() as u16);
        for (index, &core) in cores.iter().enumerate() {
            let _first_touch = Pinned::to(core).map_err(starting)?;
            let mut ports = Vec::new();
            for (place, &name) in interfaces.iter().enumerate() {
                let group = group.map(|group| group.wrapping_add(place as u16));
                ports.push(PacketPort::open(name, group).map_err(starting)?);
            }
            // Jumbo frames need larger buffers.
            let longest = ports
                .iter()
                .map(|port| longest_frame(port.interface().mtu) as u32)
                .max();
            let layout = Layout::holding(BUFFERS, longest.unwrap_or_default());
            let pool = Pool::new(layout).map_err(starting)?;
            let mut worker = Worker::new(vec![tables.reader(index).map_err(starting)?], pool);
            let mut counters = Vec::new();
            for port in ports {
                let interface = port.interface();
                let number = interface.index;
                let settings = PortSettings {
                    enabled: true,
                    accepts: Accepts::default(),
                    mac: interface.mac.0,
                    ..PortSettings::default()
                };
                let cells = worker.attach(Box::new(port), number, settings);
                counters.push((number, cells.map_err(starting)?));
            }
            workers.start(worker, core, counters)?;
        }
        Ok(Self(workers))
    }

    /// The counts so far, one for each worker and interface.
    pub fn counts(&self) -> Vec<PortCount> {
        let cells = self.0.counters();
        cells.map(|(_, _, cells)| cells.read()).collect()
    }

    /// Whether all workers still run; when not, [`PlainSockets::stop`] says why.
    pub fn is_running(&self) -> bool {
        self.0.ended().is_none()
    }

    /// Stops the workers; the counts at the end.
    ///
    /// # Errors
    /// The first reason for which a worker had ended before.
    pub fn stop(mut self) -> Result<Vec<PortCount>, EngineError> {
        let cells = self.0.counters();
        let cells: Vec<_> = cells.map(|(_, _, cells)| cells.clone()).collect();
        match self.0.stop() {
            Some(why) => Err(EngineError::new("a worker ended", why)),
            None => Ok(cells.iter().map(|cells| cells.read()).collect()),
        }
    }
}

fn starting(cause: impl std::fmt::Display) -> EngineError {
    EngineError::new("starting a worker", cause)
}
