//! The router's counters as `OpenMetrics` text (version 1.0.0), for Prometheus and its like.

use std::fmt::Write as _;
use std::sync::Arc;

use fastpath::forward::{LinkCount, PortCount};

use super::answers::resident;
use super::pieces::{Pieces, each};
use crate::control_plane::follower::Follower;
use crate::control_plane::model::LinkKind;
use crate::engine::Counters;

/// The page, by counters that were read now or a moment ago.
pub fn page(follower: &Follower, counters: &Arc<Counters>) -> Pieces {
    let mut page = Page::default();
    traffic(follower, counters, &mut page);
    vlans_and_tables(counters, &mut page);
    mirror(follower, &mut page);
    if let Some(result) = follower.verified() {
        let equal = f64::from(u8::from(result.different == 0));
        page.gauge(
            "corelane_verify_equal",
            "1: the latest comparison with the kernel found no difference",
            equal,
        );
        page.gauge(
            "corelane_verify_different",
            "Answers that differed in it",
            result.different as f64,
        );
        page.gauge(
            "corelane_verify_compared",
            "Answers compared in it",
            result.compared as f64,
        );
    }
    page.text.push_str("# EOF\n");
    page.pieces.text(page.text);
    page.pieces
}

/// Picks one figure of a port.
type Value = fn(&PortCount) -> u64;
/// The same of a VLAN or a table.
type LinkValue = fn(LinkCount) -> u64;

fn traffic(follower: &Follower, counters: &Arc<Counters>, page: &mut Page) {
    let by_port: [(&str, &str, Value); 5] = [
        (
            "corelane_received_frames",
            "Frames received, by port and core",
            |count| count.received,
        ),
        (
            "corelane_received_bytes",
            "Bytes received without FCS, by port and core",
            |count| count.received_bytes,
        ),
        (
            "corelane_forwarded_frames",
            "Frames forwarded, by receiving port and core",
            |count| count.forwarded,
        ),
        (
            "corelane_forwarded_bytes",
            "Bytes forwarded without FCS, by receiving port and core",
            |count| count.forwarded_bytes,
        ),
        (
            "corelane_refused_frames",
            "Frames that the port's device did not take, by egress port and core",
            |count| count.refused,
        ),
    ];
    for (family, help, value) in by_port {
        page.family(family, "counter", help);
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
    page.family(
        "corelane_not_forwarded_frames",
        "counter",
        "Frames not forwarded, by port, core, reason and fate",
    );
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
    page.family(
        "corelane_next_hop_frames",
        "counter",
        "Frames by next hop; those of a group under its members",
    );
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
    let by_link: [(&str, &str, LinkValue); 4] = [
        ("received_frames", "Frames received", |count| count.received),
        ("received_bytes", "Bytes received without FCS", |count| {
            count.received_bytes
        }),
        ("forwarded_frames", "Frames handed on to be sent", |count| {
            count.forwarded
        }),
        (
            "forwarded_bytes",
            "Bytes handed on to be sent, without FCS",
            |count| count.forwarded_bytes,
        ),
    ];
    for (what, help, value) in by_link {
        page.family(
            format!("corelane_vlan_{what}"),
            "counter",
            &format!("{help}, by VLAN"),
        );
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
        let help = format!("{help}, by table of the look-up; its VRF, if it is one's");
        page.family(format!("corelane_table_{what}"), "counter", &help);
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
    page.family("corelane_routes", "gauge", "Prefixes that have a route");
    page.sample("", &[("family", "ipv4".to_owned())], v4 as f64);
    page.sample("", &[("family", "ipv6".to_owned())], v6 as f64);
    let lag = "From reading an announcement of the kernel to the engine's having it";
    page.gauge(
        "corelane_next_hops",
        "Next hops in use",
        mirror.next_hops().in_use() as f64,
    );
    page.family(
        "corelane_not_carried",
        "gauge",
        "What is the kernel's because it found no room, by kind",
    );
    for (what, count) in follower.not_carried().kinds() {
        page.sample("", &[("what", what.to_owned())], count as f64);
    }
    let rooms = follower.engine().room();
    page.family("corelane_room", "gauge", "What there is room for, by kind");
    for room in &rooms {
        page.sample("", &[("what", room.what.to_owned())], room.size as f64);
    }
    page.family("corelane_room_used", "gauge", "What of that is taken");
    for room in &rooms {
        page.sample("", &[("what", room.what.to_owned())], room.used as f64);
    }
    let failed = follower.engine().failed_ports();
    page.family(
        "corelane_port_failed",
        "gauge",
        "1: the port could not be set up, is the kernel's and is tried again",
    );
    for name in mirror.around().port_names() {
        let is_failed = failed.iter().any(|(port, _)| port == name);
        let labels = [("port", escaped(name))];
        page.sample("", &labels, f64::from(u8::from(is_failed)));
    }
    page.family(
        "corelane_failed",
        "gauge",
        "1: this has failed the last time, and is tried again",
    );
    for (what, _) in health.troubles.all() {
        page.sample("", &[("what", what.to_owned())], 1.0);
    }
    page.gauge("corelane_mirror_lag_seconds", lag, health.lag.as_secs_f64());
    page.gauge(
        "corelane_mirror_lag_max_seconds",
        "The longest such time",
        health.lag_max.as_secs_f64(),
    );
    page.counter(
        "corelane_mirror_messages",
        "Messages taken in",
        health.messages as f64,
    );
    page.counter(
        "corelane_mirror_resyncs",
        "Re-reads of the kernel's tables",
        health.resyncs as f64,
    );
    page.counter(
        "corelane_mirror_overruns",
        "Times that announcements were lost",
        health.overruns as f64,
    );
    page.gauge(
        "corelane_memory_bytes",
        "Forwarding state",
        follower.engine().answers().memory() as f64,
    );
    page.gauge(
        "corelane_resident_bytes",
        "Resident memory of the process",
        resident() as f64,
    );
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
    family: String,
}

impl Page {
    /// A counter for each key that has one.
    fn rows<K>(
        &mut self,
        keys: impl IntoIterator<Item = K, IntoIter: Send + 'static>,
        row: impl Fn(&Follower, K) -> Option<Row> + Send + 'static,
    ) {
        self.pieces.text(std::mem::take(&mut self.text));
        let family = self.family.clone();
        self.pieces.part(each(keys, move |follower, key, text| {
            if let Some((labels, value)) = row(follower, key) {
                sample(text, &family, "_total", &labels, value as f64);
            }
        }));
    }

    fn family(&mut self, name: impl Into<String>, kind: &str, help: &str) {
        self.family = name.into();
        let name = &self.family;
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# TYPE {name} {kind}\n# HELP {name} {help}.");
    }

    fn sample(&mut self, suffix: &str, labels: &[(&str, String)], value: f64) {
        sample(&mut self.text, &self.family, suffix, labels, value);
    }

    fn gauge(&mut self, name: &'static str, help: &str, value: f64) {
        self.family(name, "gauge", help);
        self.sample("", &[], value);
    }

    fn counter(&mut self, name: &'static str, help: &str, value: f64) {
        self.family(name, "counter", help);
        self.sample("_total", &[], value);
    }
}

fn sample(text: &mut String, family: &str, suffix: &str, labels: &[(&str, String)], value: f64) {
    let labels: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}=\"{value}\""))
        .collect();
    let labels = if labels.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", labels.join(","))
    };
    let _ = writeln!(text, "{family}{suffix}{labels} {value}");
}
