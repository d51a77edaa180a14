//! The sending half: builds what is due and hands it to the port.

use port::{Burst, Pool, PortError};

use crate::addresses;
use crate::frame::{Ends, Signature, Template};
use crate::link::Link;
use crate::schedule::{BURST, Pacer, Schedule};
use crate::sizes::Family;
use crate::trial::Order;

/// Destination addresses of a stream, as numbers.
#[derive(Debug)]
enum Addresses {
    V4(Vec<u32>),
    V6(Vec<u128>),
}

/// One stream of a sending port.
#[derive(Debug)]
struct Stream {
    /// Index among all streams of the trial, in the signature's lower byte.
    index: u8,
    addresses: Addresses,
    /// Frames built so far.
    sequence: u32,
    /// Next in `addresses`.
    position: usize,
}

/// What one port sends.
pub(super) struct Sender {
    pub(super) port: u8,
    trial: u8,
    templates: Vec<Template>,
    streams: Vec<Stream>,
    schedule: Schedule,
    pacer: Pacer,
    /// Which stream is next.
    turn: usize,
    /// Frames built so far, of all streams.
    built: u64,
    /// Built and not yet taken by the port.
    pending: Burst,
    start_ns: u64,
    first_ns: u64,
    last_ns: u64,
    pub(super) largest_burst: u32,
}

impl Sender {
    pub(super) fn new(
        port: u8,
        ends: Ends,
        streams: &[(u8, u8)],
        ports: u8,
        order: &Order,
        trial: u8,
        seed: u64,
    ) -> Self {
        let own = streams
            .iter()
            .zip(0_u8..)
            .filter(|((from, _), _)| *from == port);
        let streams = own
            .map(|(&(_, to), index)| Stream {
                index,
                addresses: destinations(order, to, ports, seed),
                sequence: 0,
                position: 0,
            })
            .collect();
        Self {
            port,
            trial,
            templates: order
                .sizes
                .iter()
                .map(|&size| Template::new(size, order.family, &ends))
                .collect(),
            streams,
            schedule: order.schedule.clone(),
            pacer: Pacer::new(&order.schedule, BURST),
            turn: 0,
            built: 0,
            pending: Burst::new(),
            start_ns: 0,
            first_ns: 0,
            last_ns: 0,
            largest_burst: 0,
        }
    }

    /// Frames of sequence number 0 to the first destinations, for the device to learn from; they count nowhere.
    pub(super) fn learning(&self, pool: &mut Pool, burst: &mut Burst) {
        let Some(template) = self.templates.first() else {
            return;
        };
        for stream in &self.streams {
            let Some(frame) = pool.allocate(template.len() as u16) else {
                return;
            };
            let signature = Signature {
                stream: u16::from(stream.index),
                sequence: 0,
                sent_ns: 0,
            };
            write(
                template,
                &stream.addresses,
                0,
                pool.bytes_mut(&frame),
                signature,
            );
            if let Err(frame) = burst.push(frame) {
                pool.release(frame);
                return;
            }
        }
    }

    pub(super) fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.first_ns = start_ns;
        self.last_ns = start_ns;
    }

    /// Sends what is due now.
    #[inline]
    pub(super) fn turn(
        &mut self,
        link: &mut impl Link,
        pool: &mut Pool,
        now: u64,
    ) -> Result<(), PortError> {
        if self.pending.is_empty() {
            if now < self.start_ns {
                return Ok(());
            }
            let since = now - self.start_ns;
            let allowed = self.pacer.allowed(since).min(Burst::CAPACITY as u64);
            if allowed == 0 {
                return Ok(());
            }
            let built = self.build(pool, allowed as usize, now);
            self.pacer.went(built as u64, since);
            self.largest_burst = self.largest_burst.max(built as u32);
        }
        let taken = link.transmit(self.port, pool, &mut self.pending, now)?;
        if taken > 0 {
            if self.last_ns == self.start_ns {
                self.first_ns = now;
            }
            self.last_ns = now;
        }
        Ok(())
    }

    /// Builds up to `count` frames; fewer when the pool is empty.
    #[inline]
    fn build(&mut self, pool: &mut Pool, count: usize, now: u64) -> usize {
        let mut built = 0;
        if let [template] = &self.templates[..] {
            built = pool.allocate_burst(count, template.len() as u16, &mut self.pending);
        } else {
            for step in 0..count {
                let template = &self.templates[(self.built as usize + step) % self.templates.len()];
                let Some(frame) = pool.allocate(template.len() as u16) else {
                    break;
                };
                let pushed = self.pending.push(frame);
                debug_assert!(pushed.is_ok(), "count is within the room");
                built += 1;
            }
        }
        let mixed = self.templates.len();
        for (step, frame) in self.pending.frames().iter().enumerate() {
            let template = &self.templates[if mixed == 1 {
                0
            } else {
                (self.built as usize + step) % mixed
            }];
            let stream = &mut self.streams[self.turn];
            stream.sequence += 1;
            let signature = Signature {
                stream: u16::from(self.trial) << 8 | u16::from(stream.index),
                sequence: stream.sequence,
                sent_ns: now,
            };
            write(
                template,
                &stream.addresses,
                stream.position,
                pool.bytes_mut(frame),
                signature,
            );
            stream.position += 1;
            if stream.position == stream.addresses.len() {
                stream.position = 0;
            }
            self.turn += 1;
            if self.turn == self.streams.len() {
                self.turn = 0;
            }
        }
        self.built += built as u64;
        built
    }

    /// Whether everything has been handed over or skipped.
    pub(super) fn finished(&self) -> bool {
        self.pending.is_empty() && self.pacer.finished()
    }

    /// How long frames have been waiting for the port to take them, ns.
    pub(super) fn stuck_for(&self, now: u64) -> u64 {
        if self.pending.is_empty() {
            0
        } else {
            now.saturating_sub(self.last_ns)
        }
    }

    /// Frames that the port took.
    pub(super) fn sent(&self) -> u64 {
        self.built - self.pending.len() as u64
    }

    /// Frames of one stream (by its index) that the port took.
    pub(super) fn sent_of(&self, index: u8) -> Option<u32> {
        let place = self
            .streams
            .iter()
            .position(|stream| stream.index == index)?;
        let count = self.streams.len() as u64;
        // Frames go to the streams by turns, so what the port took is spread evenly, the first streams first.
        let sent = self.sent();
        Some((sent / count + u64::from(sent % count > place as u64)) as u32)
    }

    /// From the first frame's handing over to the last's, and one interval more: the time that the sent frames stand for.
    pub(super) fn elapsed_ns(&self) -> u64 {
        let span = self.last_ns - self.first_ns;
        match self.schedule.duration_ns() {
            // A sender that kept its timetable took the timetable's time: its last burst may hold frames of the last interval.
            Some(intended) => {
                let last = self.schedule.departure_ns(self.schedule.frames());
                intended.max(span + (intended - last.min(intended)))
            }
            None => span,
        }
    }

    /// When a frame of a stream was to leave, ns after the start.
    pub(super) fn planned_ns(&self, index: u8, sequence: u32) -> Option<u64> {
        let place = self
            .streams
            .iter()
            .position(|stream| stream.index == index)? as u64;
        let slot = u64::from(sequence.saturating_sub(1)) * self.streams.len() as u64 + place;
        Some(self.schedule.departure_ns(self.pacer.place(slot)))
    }

    /// How late the latest frame was built, ns.
    pub(super) fn worst_lateness_ns(&self) -> u64 {
        self.pacer.worst_lateness_ns()
    }

    /// Returns frames that no port took.
    pub(super) fn give_back(&mut self, pool: &mut Pool) {
        let left = self.pending.len() as u64;
        pool.release_all(&mut self.pending);
        self.built -= left;
    }
}

impl Addresses {
    fn len(&self) -> usize {
        match self {
            Self::V4(list) => list.len(),
            Self::V6(list) => list.len(),
        }
    }
}

#[inline]
fn write(
    template: &Template,
    addresses: &Addresses,
    position: usize,
    frame: &mut [u8],
    signature: Signature,
) {
    match addresses {
        Addresses::V4(list) => template.write_v4(frame, list[position], signature),
        Addresses::V6(list) => template.write_v6(frame, list[position], signature),
    }
}

/// The destinations behind a port, in random order (RFC 2544 §12).
fn destinations(order: &Order, port: u8, ports: u8, seed: u64) -> Addresses {
    let count = order.destinations.max(1);
    let indices = addresses::shuffled(count, seed);
    match order.family {
        Family::Ipv4 => Addresses::V4(
            indices
                .map(|index| u32::from(addresses::destination_v4(port, ports, index, count)))
                .collect(),
        ),
        Family::Ipv6 => Addresses::V6(
            indices
                .map(|index| u128::from(addresses::destination_v6(port, index, count)))
                .collect(),
        ),
    }
}
