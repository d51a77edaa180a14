//! The receiving half: checks every frame that arrives and keeps the counts.

use std::sync::Arc;

use port::{Burst, Pool};

use super::record::Arrived;
use crate::capture::{Capture, Departures};
use crate::frame::{Content, Ends, Signature, Template, udp_source_v4};
use crate::latency::{Delays, Neighbours};
use crate::schedule::Skips;
use crate::sequence::{FLOWS, SequenceWindow};
use crate::sizes::FAMILIES;
use crate::traffic::{Modifier, SNMP};
use crate::trial::{Counts, Order, Waits};

/// One stream as seen from its end.
struct Stream {
    to: u8,
    from: u8,
    /// Among the streams of its port, which take turns.
    place: u64,
    window: SequenceWindow,
    neighbours: Neighbours,
    /// Frames that the sender's port took, once it has finished.
    expected: Option<u32>,
}

/// What all ports received.
pub(super) struct Receiver {
    trial: u8,
    templates: Vec<Template>,
    /// The capture that is replayed in place of test frames, and when its frames left.
    replay: Option<(Arc<Capture>, Departures)>,
    /// Whether the device is asked by SNMP and may answer.
    asked: bool,
    streams: Vec<Stream>,
    delays: Delays,
    response: Delays,
    /// From one place of a port's timetable to the next; 0 when it is not one even stretch.
    interval_ns: f64,
    /// Streams of each port.
    turns: u64,
    /// What each sending port left out of its timetable.
    skips: Vec<(u8, Skips)>,
    start_ns: u64,
    first_ns: u64,
    last_ns: u64,
    silence_ns: u64,
    counts: Counts,
}

impl Receiver {
    pub(super) fn new(
        streams: &[(u8, u8)],
        order: &Order,
        trial: u8,
        departures: &Departures,
    ) -> Self {
        // Of the flows in a capture nothing is known: its order is that of the whole.
        let flows = match order.traffic.replay {
            Some(_) => 1,
            // Each frame is a flow of its own, and has no order.
            None if order.traffic.random_ports => FLOWS,
            None => order.destinations.clamp(1, FLOWS),
        };
        let nobody = Ends {
            source_mac: [0; 6],
            destination_mac: [0; 6],
            source_v4: std::net::Ipv4Addr::UNSPECIFIED,
            source_v6: std::net::Ipv6Addr::UNSPECIFIED,
        };
        let mut templates: Vec<Template> = FAMILIES
            .into_iter()
            .filter(|&family| order.sends(family))
            .flat_map(|family| {
                let sizes = order.sizes.iter();
                sizes.map(move |&size| Template::new(size, family, &nobody))
            })
            .collect();
        templates.sort_by_key(|template| (template.length(), template.family() as u8));
        templates.dedup_by_key(|template| (template.length(), template.family() as u8));
        let turns = streams
            .iter()
            .filter(|(from, _)| *from == streams[0].0)
            .count();
        let interval_ns = match order.schedule.segments() {
            [only] if only.rate.is_finite() && order.traffic.modifier.is_none() => 1e9 / only.rate,
            _ => 0.0,
        };
        Self {
            trial,
            templates,
            replay: order
                .traffic
                .replay
                .as_ref()
                .map(|capture| (Arc::clone(capture), departures.clone())),
            asked: order.traffic.modifier == Some(Modifier::Management),
            streams: streams
                .iter()
                .enumerate()
                .map(|(index, &(from, to))| Stream {
                    to,
                    from,
                    place: (index % turns) as u64,
                    window: SequenceWindow::new(flows),
                    neighbours: Neighbours::default(),
                    expected: None,
                })
                .collect(),
            delays: Delays::new(),
            response: Delays::new(),
            interval_ns,
            turns: turns as u64,
            skips: Vec::new(),
            start_ns: 0,
            first_ns: 0,
            last_ns: 0,
            silence_ns: 0,
            counts: Counts::default(),
        }
    }

    pub(super) fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// Takes over what a port left out of its timetable.
    #[inline]
    pub(super) fn follow(&mut self, port: u8, skips: &Skips) {
        if skips.count() == 0 {
            return;
        }
        match self.skips.iter_mut().find(|(from, _)| *from == port) {
            Some((_, known)) if known.count() == skips.count() => {}
            Some((_, known)) => known.clone_from(skips),
            None => self.skips.push((port, skips.clone())),
        }
    }

    /// How many streams there are.
    pub(super) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Learns how many frames of each stream to wait for.
    pub(super) fn expect(&mut self, sent: &[u32]) {
        for (stream, &sent) in self.streams.iter_mut().zip(sent) {
            stream.expected = Some(sent);
        }
    }

    /// Whether there is nothing more to wait for, once sending ended at `since`: every expected
    /// frame has come, the wait for them is over, or none has come for as long as `waits` says.
    pub(super) fn is_done(&self, since: u64, now: u64, waits: &Waits) -> bool {
        let complete = self.streams.iter().all(|stream| {
            let expected = stream.expected.map(u64::from);
            expected.is_some_and(|expected| stream.window.received() >= expected)
        });
        let waited = now.saturating_sub(since) >= waits.residual_ns;
        complete || waited || self.quiet_ns(since, now) >= waits.quiet_ns
    }

    /// For how long nothing has come that should have, ns: the device is given thrice the interval
    /// of the frames and twice the longest delay seen, and all the time there is while nothing at
    /// all has come.
    fn quiet_ns(&self, since: u64, now: u64) -> u64 {
        if self.first_ns == 0 {
            return 0;
        }
        let grace =
            (3.0 * self.interval_ns * self.turns as f64) as u64 + 2 * self.delays.longest_ns();
        now.saturating_sub(self.last_ns.max(since))
            .saturating_sub(grace)
    }

    /// Takes a burst that came out of `port`.
    #[inline]
    pub(super) fn take(&mut self, port: u8, pool: &Pool, burst: &Burst, now: u64) {
        let before = self.counts.received;
        for frame in burst.frames() {
            self.frame(port, pool.bytes(frame), now);
        }
        self.counts.arrivals += burst.len() as u64;
        if self.counts.received == before {
            return;
        }
        if self.first_ns == 0 {
            self.first_ns = now;
        } else {
            self.silence_ns = self.silence_ns.max(now - self.last_ns);
        }
        self.last_ns = now;
    }

    #[inline]
    fn frame(&mut self, port: u8, bytes: &[u8], now: u64) {
        let template = self.templates.iter().find(|template| template.fits(bytes));
        let content = match (template, &self.replay) {
            (Some(template), _) => template.judge(bytes),
            (None, Some((capture, departures))) => {
                capture.judge(bytes, departures, u16::from(self.trial) << 8)
            }
            (None, None) if Signature::read(bytes).is_some() => Content::Corrupt,
            (None, None) => Content::Stray,
        };
        let signature = match content {
            Content::Good(signature) => signature,
            Content::Corrupt => {
                self.counts.corrupt += 1;
                return;
            }
            Content::Stray if self.asked && udp_source_v4(bytes) == Some(SNMP) => {
                self.counts.answers += 1;
                return;
            }
            Content::Stray => {
                self.counts.stray += 1;
                return;
            }
        };
        let stream = self.streams.get_mut(usize::from(signature.stream as u8));
        let Some(stream) = stream
            .filter(|_| (signature.stream >> 8) as u8 == self.trial && signature.sequence > 0)
        else {
            self.counts.residual += 1;
            return;
        };
        if stream.to != port {
            self.counts.misdirected += 1;
            return;
        }
        if !stream.window.take(signature.sequence) {
            return;
        }
        self.counts.received += 1;
        self.delays.take_of(
            &mut stream.neighbours,
            signature.sequence,
            now.saturating_sub(signature.sent_ns),
        );
        if self.interval_ns > 0.0 {
            let index = u64::from(signature.sequence - 1) * self.turns + stream.place;
            let skips = self.skips.iter().find(|(from, _)| *from == stream.from);
            let place = skips.map_or(index, |(_, skips)| skips.place(index) - 1);
            let planned = self.start_ns + (place as f64 * self.interval_ns) as u64;
            self.response.take(now.saturating_sub(planned));
        }
    }

    /// Ends a trial in which so many frames of each stream were sent.
    pub(super) fn finish(mut self, sent: &[u32]) -> Arrived {
        let mut counts = self.counts;
        counts.received = 0;
        let mut last_lost = Vec::new();
        for ((stream, index), &sent) in self.streams.drain(..).zip(0_u8..=u8::MAX).zip(sent) {
            let sequenced = stream.window.finish(sent);
            counts.received += sequenced.received;
            counts.duplicate += sequenced.duplicate;
            counts.reordered += sequenced.reordered;
            counts.late += sequenced.late;
            counts.loss_runs += sequenced.gaps;
            counts.longest_loss_run = counts
                .longest_loss_run
                .max(u64::from(sequenced.longest_gap));
            last_lost.extend(sequenced.last_lost.map(|sequence| (index, sequence)));
        }
        Arrived {
            counts,
            latency: self.delays.summary(),
            response: self.response.summary(),
            last_lost,
            longest_silence_ns: (self.first_ns > 0).then_some(self.silence_ns),
            drain_ns: self.delays.drain_ns(),
        }
    }
}
