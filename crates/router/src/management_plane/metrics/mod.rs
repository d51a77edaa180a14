//! The router's counters for Prometheus and its like: as `OpenMetrics` text (version 1.0.0) for who
//! accepts it, else as Prometheus text (version 0.0.4). Samples are the same in both.

mod families;
mod format;
mod process;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fastpath::forward::{LinkCount, PortCount};

pub use self::families::{FAMILIES, Family};
pub use self::format::Format;
use super::answers::resident;
use super::pieces::{Pieces, each};
use crate::control_plane::digest::Digest;
use crate::control_plane::follower::Follower;
use crate::control_plane::model::LinkKind;
use crate::engine::Counters;
use crate::samples::Counts;

/// Whether traffic may come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fitness {
    /// Somebody vouches for the routes.
    pub healthy: bool,
    /// It does all that it was asked to.
    pub ready: bool,
    /// Somebody wants it out of traffic.
    pub draining: bool,
}

/// The page, by counters that were read now or a moment ago.
pub fn page(
    follower: &Follower,
    counters: &Arc<Counters>,
    fitness: Fitness,
    sampled: &Counts,
    format: Format,
) -> Pieces {
    let mut page = Page {
        format,
        ..Page::default()
    };
    state(follower, fitness, &mut page);
    traffic(follower, counters, &mut page);
    vlans_and_tables(counters, &mut page);
    mirror(follower, &mut page);
    if let Some(result) = follower.verified() {
        let equal = f64::from(u8::from(result.different == 0));
        page.single(families::VERIFY_EQUAL, equal);
        page.single(families::VERIFY_DIFFERENT, result.different as f64);
        page.single(families::VERIFY_COMPARED, result.compared as f64);
    }
    samples(sampled, &mut page);
    process::write(&mut page);
    page.text.push_str("# EOF\n");
    page.pieces.text(page.text);
    page.pieces
}

fn state(follower: &Follower, fitness: Fitness, page: &mut Page) {
    page.family(families::BUILD);
    let labels = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("engine", follower.engine().name().to_owned()),
    ];
    page.sample(&labels, 1.0);
    let flag = |holds: bool| f64::from(u8::from(holds));
    page.single(families::READY, flag(fitness.ready));
    page.single(families::HEALTHY, flag(fitness.healthy));
    page.single(families::DRAINING, flag(fitness.draining));
}

fn samples(counts: &Counts, page: &mut Page) {
    let all = [
        (families::SAMPLES, &counts.read),
        (families::SAMPLES_LOST, &counts.lost),
        (families::SFLOW_DATAGRAMS, &counts.datagrams),
        (families::SFLOW_FAILED, &counts.failed),
    ];
    for (family, count) in all {
        page.single(family, count.load(Ordering::Relaxed) as f64);
    }
}

/// Picks one figure of a port.
type Value = fn(&PortCount) -> u64;
/// The same of a digest.
type DigestValue = fn(&Digest) -> u64;
/// The same of a VLAN or a table.
type LinkValue = fn(LinkCount) -> u64;

fn traffic(follower: &Follower, counters: &Arc<Counters>, page: &mut Page) {
    let by_port: [(Family, Value); 5] = [
        (families::RECEIVED_FRAMES, |count| count.received),
        (families::RECEIVED_BYTES, |count| count.received_bytes),
        (families::FORWARDED_FRAMES, |count| count.forwarded),
        (families::FORWARDED_BYTES, |count| count.forwarded_bytes),
        (families::REFUSED_FRAMES, |count| count.refused),
    ];
    for (family, value) in by_port {
        page.family(family);
        let counts = counters.ports.iter();
        let counts: Vec<_> = counts.map(|(&of, count)| (of, value(count))).collect();
        page.rows(counts, |follower, ((ifindex, core), count)| {
            let labels = [
                ("port", name(follower, ifindex)),
                ("core", core.to_string()),
            ];
            Some((labels.to_vec(), count))
        });
    }
    page.family(families::NOT_FORWARDED);
    let of = Arc::clone(counters);
    page.rows(0..counters.reasons.len(), move |follower, at| {
        let count = of.reasons[at];
        let fate = if count.punted { "kernel" } else { "dropped" };
        let labels = [
            ("port", name(follower, count.ifindex)),
            ("core", count.core.to_string()),
            ("reason", count.reason.to_owned()),
            ("fate", fate.to_owned()),
        ];
        Some((labels.to_vec(), count.frames))
    });
    page.family(families::NEXT_HOP_FRAMES);
    let numbers = follower.mirror().next_hops().numbers();
    page.rows(numbers, |follower, next_hop| {
        let key = follower.mirror().next_hops().key(next_hop)?;
        let frames = follower.engine().carried(next_hop);
        let labels = [
            ("next_hop", next_hop.0.to_string()),
            ("link", name(follower, key.link)),
            ("gateway", key.gateway.to_string()),
        ];
        (frames > 0).then(|| (labels.to_vec(), frames))
    });
}

/// The name of a link, as a label's value.
fn name(follower: &Follower, index: u32) -> String {
    let link = follower.mirror().around().links.get(&index);
    link.map_or_else(|| index.to_string(), |link| escaped(&link.name))
}

fn vlans_and_tables(counters: &Counters, page: &mut Page) {
    let by_link: [([Family; 2], LinkValue); 4] = [
        (
            [
                families::VLAN_RECEIVED_FRAMES,
                families::TABLE_RECEIVED_FRAMES,
            ],
            |count| count.received,
        ),
        (
            [
                families::VLAN_RECEIVED_BYTES,
                families::TABLE_RECEIVED_BYTES,
            ],
            |count| count.received_bytes,
        ),
        (
            [
                families::VLAN_FORWARDED_FRAMES,
                families::TABLE_FORWARDED_FRAMES,
            ],
            |count| count.forwarded,
        ),
        (
            [
                families::VLAN_FORWARDED_BYTES,
                families::TABLE_FORWARDED_BYTES,
            ],
            |count| count.forwarded_bytes,
        ),
    ];
    for ([by_vlan, by_table], value) in by_link {
        page.family(by_vlan);
        let counts = counters.vlans.iter();
        let counts: Vec<_> = counts.map(|(&of, &count)| (of, value(count))).collect();
        page.rows(counts, |follower, (ifindex, count)| {
            let link = follower.mirror().around().links.get(&ifindex)?;
            let LinkKind::Vlan { parent, vid, .. } = link.kind else {
                return None;
            };
            let labels = [
                ("link", name(follower, ifindex)),
                ("port", name(follower, parent)),
                ("vlan", vid.to_string()),
            ];
            Some((labels.to_vec(), count))
        });
        page.family(by_table);
        let counts = counters.tables.iter();
        let counts: Vec<_> = counts.map(|(&of, &count)| (of, value(count))).collect();
        page.rows(counts, |follower, (table, count)| {
            let vrf = follower.mirror().around().vrf(table).unwrap_or_default();
            let labels = [("table", table.to_string()), ("vrf", escaped(vrf))];
            Some((labels.to_vec(), count))
        });
    }
}

fn mirror(follower: &Follower, page: &mut Page) {
    let (mirror, health) = (follower.mirror(), follower.health());
    let (v4, v6) = mirror.routes();
    page.family(families::ROUTES);
    page.sample(&[("family", "ipv4".to_owned())], v4 as f64);
    page.sample(&[("family", "ipv6".to_owned())], v6 as f64);
    digests(follower, page);
    page.single(families::NEXT_HOPS, mirror.next_hops().in_use() as f64);
    page.family(families::NOT_CARRIED);
    for (what, count) in follower.not_carried().kinds() {
        page.sample(&[("what", what.to_owned())], count as f64);
    }
    let rooms = follower.engine().room();
    page.family(families::ROOM);
    for room in &rooms {
        page.sample(&[("what", room.what.to_owned())], room.size as f64);
    }
    page.family(families::ROOM_USED);
    for room in &rooms {
        page.sample(&[("what", room.what.to_owned())], room.used as f64);
    }
    let failed = follower.engine().failed_ports();
    page.family(families::PORT_FAILED);
    for name in mirror.around().port_names() {
        let is_failed = failed.iter().any(|(port, _)| port == name);
        let labels = [("port", escaped(name))];
        page.sample(&labels, f64::from(u8::from(is_failed)));
    }
    page.family(families::FAILED);
    for (what, _) in health.troubles.all() {
        page.sample(&[("what", what.to_owned())], 1.0);
    }
    page.single(families::MIRROR_LAG, health.lag.as_secs_f64());
    page.single(families::MIRROR_LAG_MAX, health.lag_max.as_secs_f64());
    page.single(families::MIRROR_MESSAGES, health.messages as f64);
    page.single(families::MIRROR_RESYNCS, health.resyncs as f64);
    page.single(families::MIRROR_OVERRUNS, health.overruns as f64);
    page.single(
        families::MEMORY,
        follower.engine().answers().memory() as f64,
    );
    page.single(families::RESIDENT, resident() as f64);
}

fn digests(follower: &Follower, page: &mut Page) {
    let (mirror, mut all) = (follower.mirror(), Vec::new());
    for &table in mirror.domains() {
        for (family, is_v6) in [("ipv4", false), ("ipv6", true)] {
            let labels = [
                ("table", table.to_string()),
                (
                    "vrf",
                    escaped(mirror.around().vrf(table).unwrap_or_default()),
                ),
                ("family", family.to_owned()),
            ];
            all.push((labels, mirror.digest(table, is_v6)));
        }
    }
    let by_family: [(Family, DigestValue); 3] = [
        (families::TABLE_ROUTES, |digest| digest.routes),
        (families::TABLE_DIGEST, |digest| exact(digest.ways)),
        (families::TABLE_PREFIXES_DIGEST, |digest| {
            exact(digest.prefixes)
        }),
    ];
    for (family, value) in by_family {
        page.family(family);
        for (labels, digest) in &all {
            page.sample(labels, value(digest) as f64);
        }
    }
}

/// So much of a digest as a sample's value holds to the last bit.
fn exact(digest: u128) -> u64 {
    digest as u64 & ((1 << f64::MANTISSA_DIGITS) - 1)
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Labels, and the value they belong to.
type Row = (Vec<(&'static str, String)>, u64);

/// What is written at once, behind what is written a row at a time.
#[derive(Default)]
struct Page {
    pieces: Pieces,
    text: String,
    format: Format,
    /// The name of the latest family's samples.
    name: String,
}

impl Page {
    /// A counter for each key that has one.
    fn rows<K>(
        &mut self,
        keys: impl IntoIterator<Item = K, IntoIter: Send + 'static>,
        row: impl Fn(&Follower, K) -> Option<Row> + Send + 'static,
    ) {
        self.pieces.text(std::mem::take(&mut self.text));
        let name = self.name.clone();
        self.pieces.part(each(keys, move |follower, key, text| {
            if let Some((labels, value)) = row(follower, key) {
                sample(text, &name, &labels, value as f64);
            }
        }));
    }

    fn family(&mut self, family: Family) {
        self.name = format!("{}{}", family.name, family.suffix());
        let (name, kind) = self.format.metadata(family);
        let help = family.help;
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# TYPE {name} {kind}\n# HELP {name} {help}.");
    }

    fn sample(&mut self, labels: &[(&str, String)], value: f64) {
        sample(&mut self.text, &self.name, labels, value);
    }

    /// A family of one sample.
    fn single(&mut self, family: Family, value: f64) {
        self.family(family);
        self.sample(&[], value);
    }
}

fn sample(text: &mut String, name: &str, labels: &[(&str, String)], value: f64) {
    let labels: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}=\"{value}\""))
        .collect();
    let labels = if labels.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", labels.join(","))
    };
    let _ = writeln!(text, "{name}{labels} {value}");
}
