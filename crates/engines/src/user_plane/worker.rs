//! One worker: a thread's ports, tables, buffers and counters, and the loop that carries bursts.
//!
//! Who owns what: the worker owns its ports and its pool, and shares neither. Tables are read
//! through readers that the organisation made for this worker alone. Counters are shared with
//! whoever watches, who only reads.
//!
//! What it cannot do: reassemble or fragment, answer with ICMP, resolve neighbours. A frame that
//! needs one of these has a [`Reason`](fastpath::forward::Reason) by which it is the kernel's.

mod hand_over;

use std::sync::Arc;

use fastpath::forward::{PortSettings, Step};
use fib::NextHop;
use fib::organisation::Reader;
use port::pool::LINE;
use port::{Burst, Frame, Pool, Port, PortError};
use wire::ethernet::MacAddress;

pub use hand_over::HandedWorker;

use super::ethernet_input::{self, Input};
use super::lane::Lane;
use super::next_hop::{self, Egress};
use super::{
    PortCounters, ethernet_output, ipv4_forward, ipv4_input, ipv6_forward, ipv6_input, lookup,
    receive, transmit,
};

/// Why a worker cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// No table with this number.
    #[error("port {port} wants table {table}, but the worker has {tables}, counted from 0")]
    NoSuchTable {
        /// The port's name.
        port: String,
        /// What it wants.
        table: u32,
        /// How many there are.
        tables: usize,
    },
    /// More ports than a worker can tell apart.
    #[error(
        "a worker takes {} ports at most; spread them over more workers",
        Worker::<fib::organisation::LockedReader>::MOST_PORTS
    )]
    TooManyPorts,
    /// The number does not fit the array that maps numbers to ports.
    #[error(
        "port {port} has number {number}; the greatest is {}",
        Egress::GREATEST_NUMBER
    )]
    Number {
        /// The port's name.
        port: String,
        /// Its number.
        number: u32,
    },
    /// Nothing with this number is attached.
    #[error("no port with number {number} is attached")]
    NoSuchPort {
        /// The number.
        number: u32,
    },
}

/// A port and what the worker keeps about it.
struct Attached {
    port: Box<dyn Port>,
    /// By which next hops name it.
    number: u32,
    settings: PortSettings,
    /// The station as a number, or one that no frame has when nothing is to be routed.
    station: u64,
}

/// One table and the keys of the burst that go to it.
struct Table<R> {
    reader: R,
    v4: Lane<u32>,
    v6: Lane<u128>,
}

/// Runs frames to completion on one core.
pub struct Worker<R> {
    ports: Vec<Attached>,
    /// By place, as `ports`.
    counters: Vec<Arc<PortCounters>>,
    /// Frames that leave by the port at the same place; empty between bursts.
    outgoing: Vec<Burst>,
    tables: Vec<Table<R>>,
    egress: Egress,
    pool: Pool,
    burst: Burst,
    fates: [u8; Burst::CAPACITY],
}

impl<R> std::fmt::Debug for Worker<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

/// The fate of a frame that is not forwarded; any other fate is the place of its egress port.
const DROPPED: u8 = u8::MAX;

impl<R: Reader> Worker<R> {
    /// Ports that one worker can have.
    pub const MOST_PORTS: usize = DROPPED as usize;

    /// A worker without ports. `tables` are the readers that ports name by their place.
    pub fn new(tables: Vec<R>, pool: Pool) -> Self {
        let tables = tables
            .into_iter()
            .map(|reader| Table {
                reader,
                v4: Lane::new(),
                v6: Lane::new(),
            })
            .collect();
        Self {
            ports: Vec::new(),
            counters: Vec::new(),
            outgoing: Vec::new(),
            tables,
            egress: Egress::default(),
            pool,
            burst: Burst::new(),
            fates: [DROPPED; Burst::CAPACITY],
        }
    }

    /// Adds a port; returns the cells it will be counted in. Next hops name it by `number`: its
    /// interface index, or its place. Its tables are places among the worker's own, from 0.
    ///
    /// # Errors
    /// [`WorkerError`] when there are too many ports, or the settings name a table that is not
    /// there.
    pub fn attach(
        &mut self,
        port: Box<dyn Port>,
        number: u32,
        settings: PortSettings,
    ) -> Result<Arc<PortCounters>, WorkerError> {
        let place = u8::try_from(self.ports.len())
            .ok()
            .filter(|&place| place != DROPPED);
        let place = place.ok_or(WorkerError::TooManyPorts)?;
        if number > Egress::GREATEST_NUMBER {
            return Err(WorkerError::Number {
                port: port.name().to_owned(),
                number,
            });
        }
        self.check(port.name(), &settings)?;
        let counters = Arc::new(PortCounters::new());
        self.egress.set(number, place);
        self.egress.flows = settings.flows;
        self.ports.push(Attached {
            port,
            number,
            station: station(&settings),
            settings,
        });
        self.counters.push(Arc::clone(&counters));
        self.outgoing.push(Burst::new());
        Ok(counters)
    }

    /// Replaces the settings of the port with this number, between two bursts.
    ///
    /// # Errors
    /// [`WorkerError`] when no such port is attached, or a table is not there; nothing has changed
    /// then.
    pub fn set_port(&mut self, number: u32, settings: PortSettings) -> Result<(), WorkerError> {
        let place = self
            .ports
            .iter()
            .position(|attached| attached.number == number);
        let place = place.ok_or(WorkerError::NoSuchPort { number })?;
        self.check(self.ports[place].port.name(), &settings)?;
        let attached = &mut self.ports[place];
        attached.station = station(&settings);
        self.egress.flows = settings.flows;
        attached.settings = settings;
        Ok(())
    }

    fn check(&self, port: &str, settings: &PortSettings) -> Result<(), WorkerError> {
        let wanted = settings
            .vlans
            .iter()
            .map(|vlan| vlan.table)
            .chain([settings.table]);
        let tables = self.tables.len();
        match wanted.max().filter(|&table| table as usize >= tables) {
            Some(table) => Err(WorkerError::NoSuchTable {
                port: port.to_owned(),
                table,
                tables,
            }),
            None => Ok(()),
        }
    }

    /// The ports, in the order in which they were attached.
    pub fn ports(&self) -> impl Iterator<Item = &dyn Port> {
        self.ports.iter().map(|attached| &*attached.port)
    }

    /// The readers of the tables, to take them offline before sleeping.
    pub fn readers(&mut self) -> impl Iterator<Item = &mut R> {
        self.tables.iter_mut().map(|table| &mut table.reader)
    }

    /// Free buffers: what the pool was made with, when no port has lent any.
    pub fn free_buffers(&self) -> usize {
        self.pool.available()
    }

    /// Asks every port what it lost and writes it into the counters: a system call for some ports,
    /// so not in the loop.
    pub fn refresh_missed(&mut self) {
        for (attached, counters) in self.ports.iter_mut().zip(&self.counters) {
            counters.missed.set(attached.port.missed());
        }
    }

    /// One burst from each port; says how many frames came.
    ///
    /// # Errors
    /// A port that cannot be used any more. Every frame received so far has been counted.
    pub fn run_burst(&mut self) -> Result<usize, PortError> {
        let mut received = 0;
        let mut result = Ok(());
        for ingress in 0..self.ports.len() {
            match self.run_port(ingress) {
                Ok(count) => received += count,
                Err(error) => result = Err(error),
            }
        }
        for table in &mut self.tables {
            table.reader.quiesce();
        }
        result.map(|()| received)
    }

    fn run_port(&mut self, ingress: usize) -> Result<usize, PortError> {
        let port = &mut *self.ports[ingress].port;
        let count = receive::step(
            port,
            &mut self.pool,
            &mut self.burst,
            &self.counters[ingress],
        )?;
        if count == 0 {
            return Ok(0);
        }
        let rest = self.input(ingress);
        self.input_rest(ingress, rest);
        self.forward(ingress);
        self.dispatch();
        self.transmit(ingress)?;
        Ok(count)
    }

    /// Ethernet and IPv4 input of the ordinary case: fills the lane of the port's own table, and
    /// returns the set of places that want a closer look.
    #[inline]
    fn input(&mut self, ingress: usize) -> u64 {
        let Self {
            ports,
            tables,
            pool,
            burst,
            ..
        } = self;
        for table in &mut *tables {
            table.v4.clear();
            table.v6.clear();
        }
        let attached = &ports[ingress];
        let lane = &mut tables[attached.settings.table as usize].v4;
        let mut rest = 0;
        for (place, frame) in burst.frames().iter().enumerate() {
            let line = pool.line(frame);
            let length = frame.length();
            if ethernet_input::is_plain_ipv4(line, attached.station)
                & ipv4_input::is_plain(line, length)
            {
                lane.push(ipv4_input::destination(line), length, place);
            } else {
                rest |= 1 << place;
            }
        }
        self.counters[ingress].entered(Step::Ipv4Input, lane.len());
        rest
    }

    /// Ethernet, IPv4 and IPv6 input of the frames at the places of the set `rest`.
    #[inline]
    fn input_rest(&mut self, ingress: usize, mut rest: u64) {
        let Self {
            ports,
            tables,
            pool,
            burst,
            fates,
            ..
        } = self;
        let (settings, counters) = (&ports[ingress].settings, &self.counters[ingress]);
        let frames = burst.frames_mut();
        while rest != 0 {
            let place = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let frame = &mut frames[place];
            let input = ethernet_input::step(pool, frame, settings).and_then(|input| match input {
                Input::Ipv4 { table } => {
                    counters.entered(Step::Ipv4Input, 1);
                    let destination = ipv4_input::step(pool, frame)?;
                    tables[table].v4.push(destination, frame.length(), place);
                    Ok(())
                }
                Input::Ipv6 { table } => {
                    counters.entered(Step::Ipv6Input, 1);
                    let destination = ipv6_input::step(pool, frame)?;
                    tables[table].v6.push(destination, frame.length(), place);
                    Ok(())
                }
            });
            if let Err(reason) = input {
                counters.not_forwarded(reason, 1);
                fates[place] = DROPPED;
            }
        }
    }

    /// Look-up, next hop, one hop less and Ethernet output: every frame in a lane gets its fate.
    #[inline]
    fn forward(&mut self, ingress: usize) {
        let Self {
            tables,
            egress,
            pool,
            burst,
            fates,
            ..
        } = self;
        let counters = &self.counters[ingress];
        let frames = burst.frames_mut();
        for Table { reader, v4, v6 } in tables {
            if v4.len() > 0 {
                lookup::step_v4(reader, v4);
                let rewritten = rewrite(
                    reader,
                    egress,
                    pool,
                    frames,
                    fates,
                    counters,
                    v4.answers(),
                    ipv4_forward::step,
                );
                counters.entered(Step::Lookup, v4.len());
                counters.entered(Step::Ipv4Forward, rewritten);
            }
            if v6.len() > 0 {
                lookup::step_v6(reader, v6);
                let rewritten = rewrite(
                    reader,
                    egress,
                    pool,
                    frames,
                    fates,
                    counters,
                    v6.answers(),
                    ipv6_forward::step,
                );
                counters.entered(Step::Lookup, v6.len());
                counters.entered(Step::Ipv6Forward, rewritten);
            }
        }
    }

    /// Moves every frame to the burst of its egress port, or back to the pool.
    #[inline]
    fn dispatch(&mut self) {
        let Self {
            outgoing,
            pool,
            burst,
            fates,
            ..
        } = self;
        let fates = &fates[..burst.len()];
        let first = fates.first().copied().unwrap_or(DROPPED);
        let different = fates
            .iter()
            .fold(0, |different, fate| different | (fate ^ first));
        if let (0, Some(egress)) = (different, outgoing.get_mut(usize::from(first))) {
            // All leave by one port: the burst itself does.
            std::mem::swap(burst, egress);
            return;
        }
        for (frame, &fate) in burst.drain().zip(fates) {
            let refused = match outgoing.get_mut(usize::from(fate)) {
                Some(egress) => egress.push(frame).err(),
                None => Some(frame),
            };
            if let Some(frame) = refused {
                pool.release(frame);
            }
        }
    }

    #[inline]
    fn transmit(&mut self, ingress: usize) -> Result<(), PortError> {
        let Self {
            ports,
            outgoing,
            pool,
            counters,
            ..
        } = self;
        let mut result = Ok(());
        for (attached, burst) in ports.iter_mut().zip(outgoing) {
            if !burst.is_empty() {
                let sent = transmit::step(&mut *attached.port, pool, burst, &counters[ingress]);
                result = result.and(sent);
            }
        }
        result
    }
}

/// Next hop, one hop less and Ethernet output for the frames of one lane; says how many were
/// rewritten.
#[inline]
#[allow(
    clippy::too_many_arguments,
    reason = "the worker's fields, borrowed apart"
)]
fn rewrite<R: Reader>(
    reader: &R,
    egress: &Egress,
    pool: &mut Pool,
    frames: &mut [Frame],
    fates: &mut [u8; Burst::CAPACITY],
    counters: &PortCounters,
    answers: impl Iterator<Item = (usize, NextHop)>,
    hop: impl Fn(&mut [u8; LINE]),
) -> usize {
    let next_hops = reader.next_hops();
    let (mut entered, mut rewritten) = (0, 0);
    for (place, next_hop) in answers {
        entered += 1;
        let frame = &mut frames[place];
        let fate =
            next_hop::step(next_hops, egress, pool, frame, next_hop).and_then(|(entry, fate)| {
                rewritten += 1;
                let line = pool.line_mut(frame);
                hop(line);
                ethernet_output::step(line, entry);
                if entry.vlan != 0 {
                    ethernet_output::tag(pool, frame, entry.vlan)?;
                }
                Ok(fate)
            });
        fates[place] = fate.unwrap_or_else(|reason| {
            counters.not_forwarded(reason, 1);
            DROPPED
        });
    }
    counters.entered(Step::NextHop, entered);
    counters.entered(Step::EthernetOutput, rewritten);
    rewritten
}

/// The station to compare with, or a number that is no frame's destination when nothing is routed.
fn station(settings: &PortSettings) -> u64 {
    if settings.enabled {
        MacAddress(settings.mac).as_bits()
    } else {
        u64::MAX
    }
}
