//! From two looks at all nodes to what is shown of them.

use std::collections::BTreeMap;

use report::Table;
use report::units::compact;
use router::control_plane::digest::of_text;
use router::management_plane::node::{By, Node};
use serde::Serialize;

use super::compare::{Difference, differences};
use super::{Look, Seen};

/// Name and version of the JSON form.
const SCHEMA: &str = "corelane-fleet-nodes/1";
/// Clocks may differ by so much, in seconds.
const CLOCK: f64 = 2.0;

/// Several routers side by side.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Fleet {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// All are there, ready and alike.
    pub(super) well: bool,
    nodes: Vec<Row>,
    /// Nodes whose tables differ from those of the most.
    differences: Vec<Difference>,
    /// What is not well, a line each.
    pub(super) remarks: Vec<String>,
}

/// A node.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    node: String,
    /// `ready`, `draining`, `not ready` or `no answer`.
    state: &'static str,
    /// The rest of one that answered.
    #[serde(flatten)]
    present: Option<Present>,
}

/// Of a node that answered.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Present {
    version: String,
    engine: String,
    /// Its clock is so far ahead.
    clock_seconds: f64,
    received_frames_per_second: f64,
    received_bits_per_second: f64,
    forwarded_frames_per_second: f64,
    forwarded_bits_per_second: f64,
    /// Frames a second that were not forwarded, by reason.
    not_forwarded_frames_per_second: BTreeMap<String, f64>,
    /// Routes that the nodes may have in common.
    routes: u64,
    /// The same for the same routes.
    digest: String,
}

impl Fleet {
    /// What happened between two looks.
    pub(super) fn between(before: &[Look], after: &[Look], by: By) -> Self {
        let (nodes_before, nodes) = (answered(before), answered(after));
        let differences = differences(&nodes_before, &nodes, by);
        let mut remarks = Vec::new();
        let version = most(&nodes.iter().map(|(_, node)| node.version.as_str()));
        for look in after {
            remark(look, version, &mut remarks);
        }
        remarks.extend(differences.iter().map(differs));
        let rows = before
            .iter()
            .zip(after)
            .map(|(before, after)| Row::of(before, after, by));
        Self {
            schema: SCHEMA,
            well: remarks.is_empty(),
            nodes: rows.collect(),
            differences,
            remarks,
        }
    }

    pub(super) fn to_text(&self) -> String {
        let mut table = Table::new("").texts(["node", "state", "version"]);
        for column in ["received/s", "forwarded/s", "routes"] {
            table = table.number(column);
        }
        let mut table = table.texts(["digest", "not forwarded most"]);
        for row in &self.nodes {
            let dash = || "–".to_owned();
            let text = |of: &dyn Fn(&Present) -> String| row.present.as_ref().map_or_else(dash, of);
            table.push([
                row.node.clone(),
                row.state.to_owned(),
                text(&|one| one.version.clone()),
                text(&|one| compact(one.received_frames_per_second)),
                text(&|one| compact(one.forwarded_frames_per_second)),
                text(&|one| one.routes.to_string()),
                text(&|one| one.digest.clone()),
                text(&|one| one.top_reason().unwrap_or_else(dash)),
            ]);
        }
        let remarks = self.remarks.iter().map(|line| format!("{line}\n"));
        let remarks: String = remarks.collect();
        let gap = if remarks.is_empty() { "" } else { "\n" };
        format!("{}{gap}{remarks}", table.to_text())
    }
}

fn answered(looks: &[Look]) -> Vec<(&super::ask::Host, &Node)> {
    let nodes = looks.iter().filter_map(|look| {
        let seen = look.seen.as_ref().ok()?;
        Some((&look.host, &seen.node))
    });
    nodes.collect()
}

/// What most say; of as many the first.
fn most<'a>(all: &(impl Iterator<Item = &'a str> + Clone)) -> Option<&'a str> {
    let times = |text: &str| all.clone().filter(|other| *other == text).count();
    let mut best = None;
    for text in all.clone() {
        if best.is_none_or(|(count, _)| times(text) > count) {
            best = Some((times(text), text));
        }
    }
    best.map(|(_, text)| text)
}

fn remark(look: &Look, version: Option<&str>, remarks: &mut Vec<String>) {
    let host = &look.host;
    let Seen { node, clock, slack } = match &look.seen {
        Ok(seen) => seen,
        Err(error) => return remarks.push(format!("{host}: {error}")),
    };
    match (node.ready, node.draining) {
        (true, _) => {}
        (false, true) => remarks.push(format!("{host}: draining")),
        (false, false) if node.reasons.is_empty() => {
            remarks.push(format!("{host}: not ready; it was not until a moment ago"));
        }
        (false, false) => remarks.push(format!("{host}: not ready: {}", node.reasons.join("; "))),
    }
    if let Some(version) = version.filter(|version| *version != node.version) {
        let of_it = &node.version;
        remarks.push(format!("{host}: version {of_it}, the most have {version}"));
    }
    if clock.abs() > CLOCK + slack {
        let (seconds, way) = (clock.abs(), if *clock > 0.0 { "ahead" } else { "behind" });
        remarks.push(format!(
            "{host}: its clock is {seconds:.0} s {way} of this one; look at NTP on both"
        ));
    }
}

fn differs(one: &Difference) -> String {
    let (nodes, from) = (one.nodes.join(", "), &one.from);
    let place = format!("table {} {}", one.table, one.family.name());
    if let Some(error) = &one.error {
        return format!(
            "{nodes}: {place} differs from that of {from}; where is not known: {error}"
        );
    }
    let count = match (one.routes, one.more) {
        (count, true) => format!("at least {count} routes"),
        (1, false) => "1 route".to_owned(),
        (count, false) => format!("{count} routes"),
    };
    let example = one.example.as_ref().map_or_else(String::new, |example| {
        let said = |text: &Option<String>| text.clone().unwrap_or_else(|| "no route".to_owned());
        let (here, there) = (said(&example.here), said(&example.there));
        format!(", such as {}: {here}, there {there}", example.prefix)
    });
    format!("{nodes}: {place} differs from that of {from} in {count}{example}")
}

impl Row {
    fn of(before: &Look, after: &Look, by: By) -> Self {
        let node = after.host.to_string();
        let Ok(seen) = &after.seen else {
            return Self {
                node,
                state: "no answer",
                present: None,
            };
        };
        let state = match (seen.node.ready, seen.node.draining) {
            (true, _) => "ready",
            (false, true) => "draining",
            (false, false) => "not ready",
        };
        // One that came just now has no rates yet.
        let then = before.seen.as_ref().unwrap_or(seen);
        let seconds = after.at.duration_since(before.at).as_secs_f64();
        Self {
            node,
            state,
            present: Some(Present::between(&then.node, seen, seconds, by)),
        }
    }
}

impl Present {
    fn between(then: &Node, seen: &Seen, seconds: f64, by: By) -> Self {
        let now = &seen.node;
        let rate = |of: fn(&Node) -> u64| of(now).saturating_sub(of(then)) as f64 / seconds;
        let mut reasons: BTreeMap<String, f64> = BTreeMap::new();
        for count in &now.not_forwarded {
            let same = then
                .not_forwarded
                .iter()
                .find(|other| (&other.reason, other.to_kernel) == (&count.reason, count.to_kernel));
            let before = same.map_or(0, |same| same.frames);
            let frames = count.frames.saturating_sub(before);
            if frames > 0 {
                *reasons.entry(count.reason.clone()).or_default() += frames as f64 / seconds;
            }
        }
        let digests = now.tables.iter().map(|table| {
            let digest = match by {
                By::Prefixes => &table.prefixes,
                By::Ways => &table.ways,
            };
            format!("{} {} {digest}\n", table.table, table.family.name())
        });
        let digest = of_text(&digests.collect::<String>());
        Self {
            version: now.version.clone(),
            engine: now.engine.clone(),
            clock_seconds: seen.clock,
            received_frames_per_second: rate(|node| node.received_frames),
            received_bits_per_second: rate(|node| node.received_bytes) * 8.0,
            forwarded_frames_per_second: rate(|node| node.forwarded_frames),
            forwarded_bits_per_second: rate(|node| node.forwarded_bytes) * 8.0,
            not_forwarded_frames_per_second: reasons,
            routes: now.tables.iter().map(|table| table.routes).sum(),
            digest: format!("{:08x}", (digest >> 96) as u32),
        }
    }

    fn top_reason(&self) -> Option<String> {
        let all = self.not_forwarded_frames_per_second.iter();
        let most = all.max_by(|one, other| one.1.total_cmp(other.1));
        most.map(|(reason, rate)| format!("{reason} {}/s", compact(*rate)))
    }
}
