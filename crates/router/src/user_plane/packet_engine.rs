//! The packet engine (`af-packet`): workers between Linux interfaces, through packet sockets, by
//! tables that somebody else fills.
//!
//! One thread on each core given, each with a port on every interface; the kernel spreads what an
//! interface receives over them by flow. A next hop names its egress by interface index. Frames
//! that are not forwarded stay the kernel's, which has a copy of every one of them.
//!
//! A worker with nothing to do looks a while longer, then sleeps until a frame comes; asleep, it
//! holds nothing of the tables. The kernel forwards nothing here: switch `ip_forward` off in the
//! namespace of the interfaces, or every frame leaves twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fib::organisation::{Organisation, Reader};
use host::{CoreId, Pinned};
use port::Pool;
use port::packet::{Interface, PacketPort, longest_frame};
use port::pool::Layout;

use super::memory_engine::EngineError;
use super::{PortCount, PortCounters, PortSettings, Worker};

/// Buffers of a worker: its bursts under way, many times.
const BUFFERS: u32 = 1024;
/// Rounds without a frame before a worker goes to sleep.
const PATIENCE: u32 = 256;
/// The longest sleep: how late a worker may notice that it is to stop, or that an interface is
/// gone.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

/// Workers that are running. Dropping it stops them.
#[derive(Debug)]
pub struct PacketEngine {
    stop: Arc<AtomicBool>,
    threads: Vec<Option<JoinHandle<Result<(), EngineError>>>>,
    interfaces: Vec<(String, Interface)>,
    cores: Vec<CoreId>,
    /// By worker, then by interface.
    counters: Vec<Vec<Arc<PortCounters>>>,
}

impl PacketEngine {
    /// Opens the interfaces in the network namespace of the calling thread and starts a worker on
    /// each core.
    ///
    /// # Errors
    /// [`EngineError`] when an interface or a core cannot be used; nothing runs then.
    pub fn start<O>(tables: &O, interfaces: &[&str], cores: &[CoreId]) -> Result<Self, EngineError>
    where
        O: Organisation,
        O::Reader: 'static,
    {
        let mut engine = Self {
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
            interfaces: Vec::new(),
            cores: cores.to_vec(),
            counters: Vec::new(),
        };
        // Sockets of one process and namespace share; the number only keeps programs apart.
        let group = (cores.len() > 1).then(|| std::process::id() as u16);
        let mut workers = Vec::new();
        for index in 0..cores.len() {
            let mut ports = Vec::new();
            for (place, &name) in interfaces.iter().enumerate() {
                let group = group.map(|group| group.wrapping_add(place as u16));
                ports.push((name, PacketPort::open(name, group)?));
            }
            // Jumbo frames need larger buffers.
            let longest = ports
                .iter()
                .map(|(_, port)| longest_frame(port.interface().mtu) as u32)
                .max();
            let pool = Pool::new(Layout::holding(BUFFERS, longest.unwrap_or_default()))?;
            let mut worker = Worker::new(vec![tables.reader(index)?], pool);
            let mut cells = Vec::new();
            for (name, port) in ports {
                let interface = port.interface();
                let settings = PortSettings {
                    number: interface.index,
                    enabled: true,
                    mac: interface.mac,
                    table: 0,
                    vlans: Vec::new(),
                };
                if index == 0 {
                    engine.interfaces.push((name.to_owned(), interface));
                }
                cells.push(worker.attach(Box::new(port), settings)?);
            }
            for reader in worker.readers() {
                reader.offline();
            }
            engine.counters.push(cells);
            workers.push(worker);
        }
        for (worker, &core) in workers.into_iter().zip(cores) {
            let stop = Arc::clone(&engine.stop);
            engine.threads.push(Some(thread::spawn(move || {
                let pinned = Pinned::to(core);
                let result = pinned
                    .map_err(EngineError::from)
                    .and_then(|_pinned| run(worker, &stop));
                // One worker that cannot go on ends the engine: its flows would be lost silently.
                stop.store(true, Ordering::Relaxed);
                result
            })));
        }
        Ok(engine)
    }

    /// The interfaces as they were when opened, in the order given.
    pub fn interfaces(&self) -> &[(String, Interface)] {
        &self.interfaces
    }

    /// The counts of every worker so far: core, then by interface.
    pub fn counts(&self) -> Vec<(CoreId, Vec<PortCount>)> {
        let read = |cells: &Vec<Arc<PortCounters>>| cells.iter().map(|cell| cell.read()).collect();
        self.cores
            .iter()
            .copied()
            .zip(self.counters.iter().map(read))
            .collect()
    }

    /// Whether all workers still run; when not, [`PacketEngine::stop`] says why.
    pub fn is_running(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Stops the workers; the counts at the end.
    ///
    /// # Errors
    /// The first reason for which a worker had ended before.
    pub fn stop(mut self) -> Result<Vec<(CoreId, Vec<PortCount>)>, EngineError> {
        self.end()?;
        Ok(self.counts())
    }

    fn end(&mut self) -> Result<(), EngineError> {
        self.stop.store(true, Ordering::Relaxed);
        let mut result = Ok(());
        for thread in self.threads.iter_mut().filter_map(Option::take) {
            match thread.join() {
                Ok(ended) => result = result.and(ended),
                Err(panic) if thread::panicking() => drop(panic),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        result
    }
}

impl Drop for PacketEngine {
    fn drop(&mut self) {
        // Who wants to know why a worker ended calls `stop`.
        let _ = self.end();
    }
}

fn run<R: Reader>(mut worker: Worker<R>, stop: &AtomicBool) -> Result<(), EngineError> {
    let mut sleepers: Vec<libc::pollfd> = worker
        .ports()
        .filter_map(port::Port::readable)
        .map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    worker.readers().for_each(Reader::online);
    let mut idle = 0;
    let result = loop {
        if stop.load(Ordering::Relaxed) {
            break Ok(());
        }
        match worker.run_burst() {
            Ok(0) => idle += 1,
            Ok(_) => idle = 0,
            Err(error) => break Err(error),
        }
        if idle == PATIENCE {
            idle = 0;
            worker.refresh_missed();
            worker.readers().for_each(Reader::offline);
            let slept = sleep(&mut sleepers);
            worker.readers().for_each(Reader::online);
            if slept == Wake::Trouble {
                // The port itself knows what it is; it looks when it has been empty for long.
                thread::sleep(Duration::from_millis(1));
            }
        }
    };
    worker.refresh_missed();
    result.map_err(EngineError::from)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    Ordinary,
    Trouble,
}

/// Waits for a frame on any port, but not for ever.
fn sleep(sleepers: &mut [libc::pollfd]) -> Wake {
    let timeout = LONGEST_SLEEP.as_millis() as libc::c_int;
    // SAFETY: the kernel reads and writes the `pollfd`s of the slice, whose length is given.
    unsafe {
        libc::poll(
            sleepers.as_mut_ptr(),
            sleepers.len() as libc::nfds_t,
            timeout,
        )
    };
    let trouble = sleepers
        .iter()
        .any(|sleeper| sleeper.revents & libc::POLLERR != 0);
    if trouble {
        Wake::Trouble
    } else {
        Wake::Ordinary
    }
}
