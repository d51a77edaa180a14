//! The sending half: builds what is due and hands it to the port.

use std::sync::Arc;

use port::{Burst, Pool, PortError};

use crate::addresses;
use crate::capture::{Capture, Departures};
use crate::frame::{Ends, Signature, Template};
use crate::link::Link;
use crate::schedule::{BURST, Pacer, Schedule, Skips};
use crate::sizes::{FAMILIES, Family};
use crate::traffic::Blend;
use crate::trial::Order;
use crate::udp_ports;

/// Destination addresses of a stream, as numbers; a protocol that is not sent has none.
#[derive(Debug)]
struct Addresses {
    v4: Vec<u32>,
    v6: Vec<u128>,
    count: usize,
}

/// Other frames in the place of test frames: the first of every so many places of the timetable.
#[derive(Debug)]
struct Modified {
    every: u64,
    frames: Vec<Vec<u8>>,
}

impl Modified {
    /// The frame at place `slot` (from 0), if it is not a test frame.
    #[inline]
    fn at(&self, slot: u64) -> Option<&[u8]> {
        if slot.is_multiple_of(self.every) {
            let turn = (slot / self.every) % self.frames.len() as u64;
            Some(&self.frames[turn as usize])
        } else {
            None
        }
    }

    /// How many of the first `slots` places are not test frames.
    fn among(&self, slots: u64) -> u64 {
        slots.div_ceil(self.every)
    }

    /// The place of the `index`th test frame (from 0).
    fn slot(&self, index: u64) -> u64 {
        let between = self.every.saturating_sub(1).max(1);
        index + index / between + 1
    }
}

/// The frames of a capture, and where their departures are noted.
#[derive(Debug)]
struct Replay {
    capture: Arc<Capture>,
    departures: Departures,
    macs: [[u8; 6]; 2],
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

/// What the senders of a trial have in common.
pub(super) struct Run<'a> {
    pub(super) trial: u8,
    pub(super) seed: u64,
    pub(super) departures: &'a Departures,
}

/// What one port sends.
pub(super) struct Sender {
    pub(super) port: u8,
    trial: u8,
    /// By protocol, then by size; a protocol that is not sent has none.
    templates: [Vec<Template>; 2],
    /// Sizes that the templates take by turns.
    sizes: usize,
    family: Family,
    blend: Option<Blend>,
    modified: Option<Modified>,
    /// The seed of UDP ports that change from frame to frame.
    random_ports: Option<u64>,
    replay: Option<Replay>,
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
        ends: &Ends,
        streams: &[(u8, u8)],
        ports: u8,
        order: &Order,
        run: &Run<'_>,
    ) -> Self {
        let own = streams
            .iter()
            .zip(0_u8..)
            .filter(|((from, _), _)| *from == port);
        let streams = own
            .map(|(&(_, to), index)| Stream {
                index,
                addresses: destinations(order, to, ports, run.seed),
                sequence: 0,
                position: 0,
            })
            .collect();
        let templates = FAMILIES.map(|family| {
            let sizes = order.sizes.iter().filter(|_| order.sends(family));
            sizes
                .map(|&size| Template::new(size, family, ends))
                .collect()
        });
        // A capture is replayed as it is.
        let modifier = order.traffic.modifier;
        let modifier = modifier.filter(|_| order.traffic.replay.is_none());
        let modified = modifier.map(|modifier| Modified {
            every: modifier.every(&order.schedule),
            frames: modifier.frames(ends, addresses::device_v4(port)),
        });
        let replay = order.traffic.replay.as_ref().map(|capture| Replay {
            capture: Arc::clone(capture),
            departures: run.departures.clone(),
            macs: [ends.destination_mac, ends.source_mac],
        });
        Self {
            port,
            trial: run.trial,
            templates,
            sizes: order.sizes.len(),
            family: order.family,
            blend: order.traffic.blend,
            modified,
            random_ports: order.traffic.random_ports.then_some(run.seed),
            replay,
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

    /// Frames of sequence number 0 to the first destinations, for the device to learn from; they
    /// count nowhere.
    pub(super) fn learning(&self, pool: &mut Pool, burst: &mut Burst) {
        if self.replay.is_some() {
            return;
        }
        let Some(template) = self.template(0) else {
            return;
        };
        for stream in &self.streams {
            let Some(frame) = pool.allocate(template.length() as u16) else {
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

    /// Whether all frames are test frames of one length and protocol.
    fn is_plain(&self) -> bool {
        self.sizes == 1 && self.blend.is_none() && self.modified.is_none() && self.replay.is_none()
    }

    /// The template of a place of the timetable.
    #[inline]
    fn template(&self, slot: u64) -> Option<&Template> {
        let family = self.blend.map_or(self.family, |blend| blend.family(slot));
        let size = (slot % self.sizes.max(1) as u64) as usize;
        self.templates[family as usize].get(size)
    }

    /// Bytes of the frame at a place of the timetable.
    fn length(&self, slot: u64) -> usize {
        if let Some(other) = self.modified.as_ref().and_then(|other| other.at(slot)) {
            return other.len();
        }
        match &self.replay {
            Some(replay) => replay.capture.length(slot),
            None => self.template(slot).map_or(0, Template::length),
        }
    }

    /// Builds up to `count` frames; fewer when the pool is empty.
    #[inline]
    fn build(&mut self, pool: &mut Pool, count: usize, now: u64) -> usize {
        let mut built = 0;
        if self.is_plain() {
            built = pool.allocate_burst(count, self.length(0) as u16, &mut self.pending);
        } else {
            for step in 0..count as u64 {
                let Some(frame) = pool.allocate(self.length(self.built + step) as u16) else {
                    break;
                };
                let pushed = self.pending.push(frame);
                debug_assert!(pushed.is_ok(), "count is within the room");
                built += 1;
            }
        }
        for (frame, slot) in self.pending.frames().iter().zip(self.built..) {
            let bytes = pool.bytes_mut(frame);
            if let Some(other) = self.modified.as_ref().and_then(|other| other.at(slot)) {
                bytes.copy_from_slice(other);
                continue;
            }
            let stream = &mut self.streams[self.turn];
            stream.sequence += 1;
            if let Some(replay) = &self.replay {
                replay.capture.write(bytes, stream.sequence, replay.macs);
                replay.departures.note(stream.sequence, now);
                continue;
            }
            let family = self.blend.map_or(self.family, |blend| blend.family(slot));
            let size = if self.sizes == 1 {
                0
            } else {
                (slot % self.sizes as u64) as usize
            };
            let signature = Signature {
                stream: u16::from(self.trial) << 8 | u16::from(stream.index),
                sequence: stream.sequence,
                sent_ns: now,
            };
            let template = &self.templates[family as usize][size];
            write(
                template,
                &stream.addresses,
                stream.position,
                bytes,
                signature,
            );
            if let Some(seed) = self.random_ports {
                let ports = udp_ports::of(seed, stream.index, stream.sequence);
                template.write_ports(bytes, ports);
            }
            stream.position += 1;
            if stream.position == stream.addresses.count {
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

    /// Frames that the port took, whatever they were.
    fn taken(&self) -> u64 {
        self.built - self.pending.len() as u64
    }

    /// Modifier frames that the port took.
    pub(super) fn modifiers(&self) -> u64 {
        self.modified
            .as_ref()
            .map_or(0, |other| other.among(self.taken()))
    }

    /// Test frames that the port took.
    pub(super) fn sent(&self) -> u64 {
        self.taken() - self.modifiers()
    }

    /// Frames of one stream (by its index) that the port took.
    pub(super) fn sent_of(&self, index: u8) -> Option<u32> {
        let place = self
            .streams
            .iter()
            .position(|stream| stream.index == index)?;
        let count = self.streams.len() as u64;
        // Frames go to the streams by turns, so what the port took is spread evenly, the first
        // streams first.
        let sent = self.sent();
        Some((sent / count + u64::from(sent % count > place as u64)) as u32)
    }

    /// From the first frame's handing over to the last's, and one interval more: the time that the
    /// sent frames stand for.
    pub(super) fn elapsed_ns(&self) -> u64 {
        let span = self.last_ns - self.first_ns;
        match self.schedule.duration_ns() {
            // A sender that kept its timetable took the timetable's time: its last burst may hold
            // frames of the last interval.
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
        let index = u64::from(sequence.saturating_sub(1)) * self.streams.len() as u64 + place;
        let slot = self
            .modified
            .as_ref()
            .map_or(index, |other| other.slot(index));
        Some(self.schedule.departure_ns(self.pacer.place(slot)))
    }

    /// Places of the timetable that it left empty so far.
    pub(super) fn skips(&self) -> &Skips {
        self.pacer.skips()
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

#[inline]
fn write(
    template: &Template,
    addresses: &Addresses,
    position: usize,
    frame: &mut [u8],
    signature: Signature,
) {
    match template.family() {
        Family::Ipv4 => template.write_v4(frame, addresses.v4[position], signature),
        Family::Ipv6 => template.write_v6(frame, addresses.v6[position], signature),
    }
}

/// The destinations behind a port, in random order (RFC 2544 §12).
fn destinations(order: &Order, port: u8, ports: u8, seed: u64) -> Addresses {
    let count = order.destinations.max(1);
    let indices = |family| {
        let none = if order.sends(family) { count } else { 0 };
        addresses::shuffled(none, seed)
    };
    Addresses {
        v4: indices(Family::Ipv4)
            .map(|index| u32::from(addresses::destination_v4(port, ports, index, count)))
            .collect(),
        v6: indices(Family::Ipv6)
            .map(|index| u128::from(addresses::destination_v6(port, index, count)))
            .collect(),
        count: count as usize,
    }
}
