//! The receiving half: checks every frame that arrives and keeps the counts.

use port::{Burst, Pool};

use super::sender::Sender;
use crate::frame::{Content, Ends, Template, read_signature};
use crate::latency::Delays;
use crate::sequence::{FLOWS, SequenceWindow};
use crate::trial::{Counts, Order};

/// One stream as seen from its end.
struct Stream {
    from: u8,
    to: u8,
    window: SequenceWindow,
    /// Frames that the sender's port took, once it has finished.
    expected: Option<u32>,
}

/// What all ports received.
pub(super) struct Receiver {
    trial: u8,
    templates: Vec<Template>,
    streams: Vec<Stream>,
    delays: Delays,
    response: Delays,
    /// Intended departure of frame `n` of a stream is `start + n × this`; 0 when the timetable is not one even stretch.
    interval_ns: f64,
    start_ns: u64,
    first_ns: u64,
    last_ns: u64,
    silence_ns: u64,
    counts: Counts,
}

/// What a receiver knows besides the counts.
pub(super) struct Seen {
    pub(super) latency: Delays,
    pub(super) response: Delays,
    pub(super) last_lost_ns: Option<u64>,
    pub(super) longest_silence_ns: Option<u64>,
}

impl Receiver {
    pub(super) fn new(streams: &[(u8, u8)], order: &Order, trial: u8) -> Self {
        let flows = order.destinations.clamp(1, FLOWS);
        let nobody = Ends {
            source_mac: [0; 6],
            destination_mac: [0; 6],
            source_v4: std::net::Ipv4Addr::UNSPECIFIED,
            source_v6: std::net::Ipv6Addr::UNSPECIFIED,
        };
        let mut templates: Vec<Template> = order
            .sizes
            .iter()
            .map(|&size| Template::new(size, order.family, &nobody))
            .collect();
        templates.sort_by_key(Template::len);
        templates.dedup_by_key(|template| template.len());
        let senders = streams
            .iter()
            .filter(|(from, _)| *from == streams[0].0)
            .count();
        let interval_ns = match order.schedule.segments() {
            [only] if only.rate.is_finite() => 1e9 / only.rate * senders as f64,
            _ => 0.0,
        };
        Self {
            trial,
            templates,
            streams: streams
                .iter()
                .map(|&(from, to)| Stream {
                    from,
                    to,
                    window: SequenceWindow::new(flows),
                    expected: None,
                })
                .collect(),
            delays: Delays::new(),
            response: Delays::new(),
            interval_ns,
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

    /// Learns how many frames to wait for.
    pub(super) fn expect(&mut self, senders: &[Sender]) {
        for (stream, index) in self.streams.iter_mut().zip(0_u8..) {
            stream.expected = senders.iter().find_map(|sender| sender.sent_of(index));
        }
    }

    /// Whether every expected frame has come.
    pub(super) fn complete(&self) -> bool {
        self.streams.iter().all(|stream| {
            stream
                .expected
                .is_some_and(|expected| stream.window.received() >= u64::from(expected))
        })
    }

    /// For how long nothing has come that should have, ns, once sending ended at `since`: the device is given thrice the interval
    /// of the frames and twice the longest delay seen, and all the time there is while nothing at all has come.
    pub(super) fn quiet_ns(&self, since: u64, now: u64) -> u64 {
        if self.first_ns == 0 {
            return 0;
        }
        let grace = (3.0 * self.interval_ns) as u64 + 2 * self.delays.longest_ns();
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
        let content = match self
            .templates
            .iter()
            .find(|template| template.len() == bytes.len())
        {
            Some(template) => template.judge(bytes),
            None if read_signature(bytes).is_some() => Content::Corrupt,
            None => Content::Stray,
        };
        let signature = match content {
            Content::Good(signature) => signature,
            Content::Corrupt => {
                self.counts.corrupt += 1;
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
        self.delays.take(now.saturating_sub(signature.sent_ns));
        if self.interval_ns > 0.0 {
            let planned =
                self.start_ns + (f64::from(signature.sequence - 1) * self.interval_ns) as u64;
            self.response.take_plain(now.saturating_sub(planned));
        }
    }

    /// Ends the trial: adds what the windows know to the counts.
    pub(super) fn finish(mut self, senders: &[Sender], counts: &mut Counts) -> Seen {
        let mut last_lost_ns = None;
        let taken = self.counts;
        counts.arrivals = taken.arrivals;
        counts.corrupt = taken.corrupt;
        counts.misdirected = taken.misdirected;
        counts.residual = taken.residual;
        counts.stray = taken.stray;
        for (stream, index) in self.streams.drain(..).zip(0_u8..) {
            let Some(sender) = senders.iter().find(|sender| sender.port == stream.from) else {
                continue;
            };
            let sequenced = stream.window.finish(sender.sent_of(index).unwrap_or(0));
            counts.received += sequenced.received;
            counts.duplicate += sequenced.duplicate;
            counts.reordered += sequenced.reordered;
            counts.late += sequenced.late;
            counts.loss_runs += sequenced.gaps;
            counts.longest_loss_run = counts
                .longest_loss_run
                .max(u64::from(sequenced.longest_gap));
            let lost_at = sequenced
                .last_lost
                .and_then(|sequence| sender.planned_ns(index, sequence));
            last_lost_ns = last_lost_ns.max(lost_at);
        }
        Seen {
            latency: self.delays,
            response: self.response,
            last_lost_ns,
            longest_silence_ns: (self.first_ns > 0).then_some(self.silence_ns),
        }
    }
}
