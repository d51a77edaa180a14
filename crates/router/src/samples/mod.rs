//! Samples of the frames that pass, while somebody wants them: for a collector of sFlow, or to see who
//! most of the traffic is.
//!
//! ```text
//!  programs  ->  ring (1 MiB)  ->  reader, a thread  ->  exporter    sFlow datagrams
//!                                        |          ->  window      heavy hitters of the last seconds
//!                                      ways            prefixes and next hops, asked of the control plane
//! ```
//!
//! The programs draw one frame in so many at random, and show frames that are discarded, up to a limit
//! ([`fastpath::forward::capture`]). The reader holds a bounded amount of memory, and frames never wait
//! for it: what finds no room in the ring is counted. It begins when somebody wants samples, and ends
//! when nobody does; ports run their own programs then.

mod datagram;
mod exporter;
mod links;
mod ways;
mod window;
mod xdr;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fastpath::forward::capture::{Sample, Samples};
use fastpath::forward::{Forwarder, Reason};
use figures::Random;

use self::datagram::{Output, Routed, Seen};
use self::exporter::Exporter;
use self::ways::{Known, Ways};
use self::window::{One, Window};
use crate::management_plane::console::Raw;
use crate::management_plane::explain::{Flow, flow_of};
use crate::management_plane::forms::Hitters;
use crate::management_plane::server::Asker;

/// How often the reader looks.
const PAUSE: Duration = Duration::from_millis(20);
/// Samples that are read at once; what is asked about them is asked together.
const AT_ONCE: usize = 512;

/// What is sent where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The collector.
    pub collector: SocketAddr,
    /// The address by which it knows this router; that of the way there when `None`.
    pub agent: Option<IpAddr>,
    /// One frame in so many is a sample.
    pub every: u32,
    /// Time between two samples of an interface's counters; `None`: never.
    pub polling: Option<Duration>,
    /// Discarded frames that are told in a second, at most.
    pub discards: u32,
}

/// Samples a second that are taken when nobody says how many: enough for a list of the largest.
const ENOUGH: u64 = 1000;
/// Samples that are kept whole for recordings: some 64 KiB.
const RECENT: usize = 256;
/// Discarded frames that are told in a second, where they are for recordings alone.
const DISCARDS: u32 = 100;
/// One frame in so many, until it is known how many frames come.
const FIRST: u32 = 64;
/// The fewest.
const FEWEST: u32 = 1 << 20;
/// How often it is looked who most of the traffic is, and how many frames come.
const LOOK: Duration = Duration::from_secs(1);

/// What was counted since the router has started, for metrics.
#[derive(Debug, Default)]
pub struct Counts {
    /// Samples that were read.
    pub read: AtomicU64,
    /// Samples that found no room.
    pub lost: AtomicU64,
    /// Datagrams that were sent to a collector.
    pub datagrams: AtomicU64,
    /// Datagrams that the system refused to send.
    pub failed: AtomicU64,
}

impl Counts {
    fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

/// A port, as the control plane's thread knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampledPort {
    /// Interface index.
    pub ifindex: u32,
    /// Frames that it has received so far.
    pub received: u64,
}

/// What the thread is told meanwhile.
#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    /// Ports by their places.
    ports: Mutex<BTreeMap<usize, SampledPort>>,
    /// Somebody wants to see who most of the traffic is.
    watched: AtomicBool,
    /// Who that was when it was looked at last.
    hitters: Mutex<Hitters>,
    /// The latest samples, the oldest first.
    recent: Mutex<VecDeque<Raw>>,
}

/// The reader, as long as it is wanted.
#[derive(Debug)]
pub struct Sampler {
    shared: Arc<Shared>,
}

impl Sampler {
    /// Begins to read by these descriptors ([`Forwarder::sampled`]). Without `export` one frame in
    /// `every` is a sample; without that, as many as are enough.
    ///
    /// # Errors
    /// When the system has no memory or thread for it.
    pub fn start(
        [ring, counts]: [BorrowedFd<'_>; 2],
        export: Option<Export>,
        every: Option<u32>,
        asker: Asker,
        counted: Arc<Counts>,
    ) -> io::Result<Self> {
        let (ring, counts) = (ring.try_clone_to_owned()?, counts.try_clone_to_owned()?);
        let cpus = bpf::map::possible_cpus().map_err(io::Error::other)?;
        let shared = Arc::new(Shared::default());
        let seed = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = Instant::now();
        let reader = Reader {
            samples: Samples::new(ring, counts, cpus)?,
            shared: Arc::clone(&shared),
            ways: Ways::new(asker),
            exporter: export.clone().map(Exporter::new),
            export,
            every,
            window: Window::new(now),
            looked: (now, None),
            random: Random::new(seed.map_or(1, |since| since.as_nanos() as u64)),
            counted,
            lost: 0,
        };
        std::thread::Builder::new()
            .name("samples".into())
            .spawn(move || reader.run())?;
        Ok(Self { shared })
    }

    /// What the ports have received now, and which are there.
    pub fn tell(&self, forwarder: &Forwarder) {
        let received = forwarder.port_counters();
        let port = |(place, ifindex): (usize, u32)| {
            let of_port = received.range((ifindex, 0)..=(ifindex, u32::MAX));
            let received = of_port.map(|(_, count)| count.received).sum();
            (place, SampledPort { ifindex, received })
        };
        let ports = forwarder.places().map(port).collect();
        *locked(&self.shared.ports) = ports;
    }

    /// Who most of the traffic is is looked at from now on, or from now on not any more.
    pub fn watch(&self, watched: bool) {
        self.shared.watched.store(watched, Ordering::Relaxed);
    }

    /// The latest samples, the oldest first.
    pub(crate) fn recent(&self) -> Vec<Raw> {
        locked(&self.shared.recent).iter().cloned().collect()
    }

    /// Who that was a moment ago.
    pub fn hitters(&self) -> Hitters {
        locked(&self.shared.hitters).clone()
    }
}

/// Nobody ends while holding one of these.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // It may be waiting for an answer of this thread, so nobody waits for its end.
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

/// The thread.
struct Reader {
    samples: Samples,
    shared: Arc<Shared>,
    ways: Ways,
    exporter: Option<Exporter>,
    export: Option<Export>,
    /// One frame in so many, where nothing is exported.
    every: Option<u32>,
    window: Window,
    /// When it was looked last, and how many frames had come by then.
    looked: (Instant, Option<u64>),
    random: Random,
    counted: Arc<Counts>,
    /// So many were lost when that was looked at last.
    lost: u64,
}

/// A sample that was read, until what it needs is known.
struct Kept {
    every: u32,
    times: u32,
    is_discard: bool,
    port: usize,
    egress: usize,
    reason: Option<Reason>,
    table: u32,
    next_hop: u16,
    /// Bytes of one frame on the wire, without FCS.
    length: u32,
    vlan: Option<u16>,
    header: Vec<u8>,
    flow: Option<Flow>,
}

impl Kept {
    fn of(sample: &Sample<'_>) -> Self {
        let shown = &sample.shown;
        let frames = shown.frames.max(1);
        // A frame of several segments stands for frames on the wire that are shorter.
        let length = if frames > 1 {
            shown.wire.div_ceil(frames)
        } else {
            shown.length
        };
        Self {
            every: sample.every,
            times: sample.times,
            is_discard: sample.is_discard,
            port: shown.port,
            egress: shown.egress,
            reason: shown.reason,
            table: shown.table,
            next_hop: shown.next_hop,
            length,
            vlan: shown.vlan,
            header: shown.bytes.to_vec(),
            flow: flow_of(shown.bytes),
        }
    }

    /// What is asked about a frame that is forwarded: its destination with its next hop, its source.
    fn keys(&self) -> Option<[(u32, IpAddr, u16); 2]> {
        let flow = self.flow.as_ref().filter(|_| self.reason.is_none())?;
        Some([
            (self.table, flow.to, self.next_hop),
            (self.table, flow.from, 0),
        ])
    }
}

impl Reader {
    fn run(mut self) {
        let export = self.export.as_ref();
        let every = export.map(|export| export.every).or(self.every);
        self.set_rate(every.unwrap_or(FIRST));
        while !self.shared.over.load(Ordering::Relaxed) {
            let now = Instant::now();
            self.count_losses();
            while self.fetch(now) == AT_ONCE && !self.shared.over.load(Ordering::Relaxed) {}
            let ports = locked(&self.shared.ports).clone();
            let indices = ports.values().map(|port| port.ifindex);
            if let Some(exporter) = &mut self.exporter {
                exporter.tend(indices, now, &self.counted);
            }
            if now.duration_since(self.looked.0) >= LOOK {
                self.look(&ports, now);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn set_rate(&mut self, every: u32) {
        let recorded = if self.every.is_some() { DISCARDS } else { 0 };
        let discards = self
            .export
            .as_ref()
            .map_or(recorded, |export| export.discards);
        let random = &mut self.random;
        self.samples.set_rate(every, discards, || random.next_u64());
    }

    /// Looks who most of the traffic is, and how many samples are enough for that.
    fn look(&mut self, ports: &BTreeMap<usize, SampledPort>, now: Instant) {
        let received: u64 = ports.values().map(|port| port.received).sum();
        let (looked, before) = self.looked;
        self.looked = (now, Some(received));
        self.window.age(now);
        if self.shared.watched.load(Ordering::Relaxed) {
            *locked(&self.shared.hitters) = self.window.hitters(now, self.samples.every());
        }
        let (None, None, Some(before)) = (&self.export, self.every, before) else {
            return;
        };
        let seconds = now.duration_since(looked).as_secs_f64();
        let rate = (received.saturating_sub(before) as f64 / seconds) as u64;
        let every = (rate / ENOUGH).clamp(1, FEWEST.into()).next_power_of_two() as u32;
        // Not at each breath of the traffic.
        let now = self.samples.every();
        if every >= now * 4 || every * 4 <= now {
            self.set_rate(every);
        }
    }

    fn count_losses(&mut self) {
        let lost = self.samples.counted().lost;
        Counts::add(&self.counted.lost, lost - self.lost);
        self.lost = lost;
    }

    /// Reads some samples and passes them on. How many.
    fn fetch(&mut self, now: Instant) -> usize {
        let (mut kept, mut recent) = (Vec::new(), Vec::new());
        while kept.len() < AT_ONCE {
            let Some(sample) = self.samples.next_sample() else {
                break;
            };
            kept.push(Kept::of(&sample));
            recent.push(Raw::of(&sample.shown));
        }
        if kept.is_empty() {
            return 0;
        }
        let mut all = locked(&self.shared.recent);
        all.extend(recent);
        let old = all.len().saturating_sub(RECENT);
        all.drain(..old);
        drop(all);
        Counts::add(&self.counted.read, kept.len() as u64);
        for key in kept.iter().filter_map(Kept::keys).flatten() {
            self.ways.want(key, now);
        }
        self.ways.learn(now);
        let ports = locked(&self.shared.ports).clone();
        let counted = self.samples.counted();
        for one in &kept {
            self.keep(one, now);
            self.pass_on(one, &ports, counted.withheld, now);
        }
        kept.len()
    }

    /// Into the window.
    fn keep(&mut self, one: &Kept, now: Instant) {
        let Some(flow) = one.flow.filter(|_| one.times > 0) else {
            return;
        };
        let prefix = one.keys().and_then(|[to, _]| self.ways.prefix_of(to));
        self.window.add(One {
            at: now,
            flow,
            prefix,
            frames: f64::from(one.every) * f64::from(one.times),
            length: one.length,
        });
    }

    /// To the collector.
    fn pass_on(
        &mut self,
        one: &Kept,
        ports: &BTreeMap<usize, SampledPort>,
        withheld: u64,
        now: Instant,
    ) {
        let routed = self.routed(one);
        // A port that has just come is not known yet.
        let (Some(exporter), Some(port)) = (&mut self.exporter, ports.get(&one.port)) else {
            return;
        };
        let index = |place: usize| ports.get(&place).map_or(0, |port| port.ifindex);
        let code = one.reason.and_then(Reason::discard);
        let tag = one.flow.as_ref().and_then(|flow| flow.tag);
        let seen = Seen {
            input: port.ifindex,
            output: match (one.reason, code) {
                (None, _) => Output::Interface(index(one.egress)),
                (Some(_), Some(code)) => Output::Discarded(code),
                (Some(Reason::Local), None) => Output::Internal,
                (Some(_), None) => Output::Unknown,
            },
            length: one.length,
            header: &one.header,
            tags: [tag, one.vlan.filter(|_| one.reason.is_none())],
            routed,
        };
        for _ in 0..one.times {
            let lost = self.lost as u32;
            exporter.flow(&seen, one.every, port.received, lost, now, &self.counted);
        }
        if let (true, Some(code), Some(reason)) = (one.is_discard, code, one.reason) {
            let what = (code, reason.name());
            exporter.discarded(&seen, what, withheld + self.lost, now, &self.counted);
        }
    }

    fn routed(&self, one: &Kept) -> Option<Routed> {
        let [to, from] = one.keys()?;
        let way = self.ways.of(to)?;
        Some(Routed {
            next_hop: way.next_hop,
            source_mask: self.ways.of(from).map_or(0, Known::mask),
            destination_mask: way.mask(),
        })
    }
}
