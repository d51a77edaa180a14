//! From two looks at a router to frames per second: pure, so that what is shown can be tested.

use std::fmt::Write as _;
use std::time::Instant;

use report::Table;
use report::units::{compact, grouped, prefixed};
use serde::Serialize;
use serde_json::Value;

use super::hitters;

/// Name and version of the JSON form.
const SCHEMA: &str = "corelane-top/1";

/// What a router said at one moment.
pub(crate) struct Snapshot {
    pub(crate) ports: Value,
    pub(crate) workers: Value,
    pub(crate) drops: Value,
    pub(crate) engine: Value,
    pub(crate) hitters: Value,
    pub(crate) at: Instant,
}

/// What `corelane top` shows: what happened between two moments.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct View {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// As `corelane show engine` says it.
    #[cfg_attr(test, schemars(with = "router::management_plane::forms::Following"))]
    engine: Value,
    ports: Vec<Port>,
    cores: Vec<Core>,
    reasons: Vec<Reason>,
    /// As `corelane show hitters` says it.
    #[cfg_attr(test, schemars(with = "router::management_plane::forms::Hitters"))]
    hitters: Value,
}

/// A port.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Port {
    #[serde(rename = "port")]
    name: String,
    state: String,
    mode: String,
    /// Frames a second.
    #[serde(rename = "received_frames_per_second")]
    received: f64,
    /// Bits a second, without FCS.
    #[serde(rename = "received_bits_per_second")]
    received_bits: f64,
    /// Frames a second that came in here and were forwarded.
    #[serde(rename = "forwarded_frames_per_second")]
    forwarded: f64,
    #[serde(rename = "forwarded_bits_per_second")]
    forwarded_bits: f64,
}

/// A core that forwards.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Core {
    #[serde(rename = "core")]
    number: u64,
    #[serde(rename = "received_frames_per_second")]
    received: f64,
    #[serde(rename = "forwarded_frames_per_second")]
    forwarded: f64,
    #[serde(rename = "to_kernel_frames_per_second")]
    to_kernel: f64,
    #[serde(rename = "dropped_frames_per_second")]
    dropped: f64,
}

/// Why frames were not forwarded.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Reason {
    port: String,
    #[serde(rename = "reason")]
    name: String,
    fate: String,
    #[serde(rename = "frames_per_second")]
    rate: f64,
    #[serde(rename = "frames")]
    total: u64,
}

fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or("").to_owned()
}

pub(super) fn rows(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The row of `list` that agrees with `row` in every one of `keys`.
fn same<'a>(list: &'a Value, row: &Value, keys: &[&str]) -> &'a Value {
    rows(list)
        .find(|other| keys.iter().all(|key| other[*key] == row[*key]))
        .unwrap_or(&Value::Null)
}

impl View {
    /// The differences. A counter that is new, or began again because its interface did, counts
    /// from zero.
    pub(crate) fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let seconds = (after.at - before.at).as_secs_f64().max(1e-9);
        let rate = |old: &Value, new: &Value, key: &str| {
            let (old, new) = (
                old[key].as_u64().unwrap_or(0),
                new[key].as_u64().unwrap_or(0),
            );
            new.checked_sub(old).unwrap_or(new) as f64 / seconds
        };
        let ports = rows(&after.ports).map(|new| {
            let old = same(&before.ports, new, &["port", "index"]);
            Port {
                name: text(new, "port"),
                state: text(new, "state"),
                mode: text(new, "mode"),
                received: rate(old, new, "received"),
                received_bits: 8.0 * rate(old, new, "received_bytes"),
                forwarded: rate(old, new, "forwarded"),
                forwarded_bits: 8.0 * rate(old, new, "forwarded_bytes"),
            }
        });
        let cores = rows(&after.workers).map(|new| {
            let old = same(&before.workers, new, &["core"]);
            Core {
                number: new["core"].as_u64().unwrap_or(0),
                received: rate(old, new, "received"),
                forwarded: rate(old, new, "forwarded"),
                to_kernel: rate(old, new, "to_kernel"),
                dropped: rate(old, new, "dropped"),
            }
        });
        let reasons = rows(&after.drops).map(|new| {
            let old = same(&before.drops, new, &["port", "reason", "fate"]);
            Reason {
                port: text(new, "port"),
                name: text(new, "reason"),
                fate: text(new, "fate"),
                rate: rate(old, new, "frames"),
                total: new["frames"].as_u64().unwrap_or(0),
            }
        });
        let mut reasons: Vec<Reason> = reasons.collect();
        reasons.sort_by(|one, other| {
            (other.rate, other.total)
                .partial_cmp(&(one.rate, one.total))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        Self {
            schema: SCHEMA,
            engine: after.engine.clone(),
            hitters: after.hitters.clone(),
            ports: ports.collect(),
            cores: cores.collect(),
            reasons,
        }
    }

    /// Tables, the most important first.
    pub(crate) fn to_text(&self) -> String {
        let mut text = self.health();
        let frames = |rate: f64| format!("{}/s", compact(rate));
        let bits = |rate: f64| prefixed(rate, "bit/s");
        let mut ports = Table::new("").texts(["port", "state", "mode"]).numbers([
            "received",
            "",
            "forwarded",
            "",
        ]);
        for port in &self.ports {
            ports.push([
                port.name.clone(),
                port.state.clone(),
                port.mode.clone(),
                frames(port.received),
                bits(port.received_bits),
                frames(port.forwarded),
                bits(port.forwarded_bits),
            ]);
        }
        let mut cores = Table::new("")
            .numbers(["core", "received", "forwarded"])
            .numbers(["to the kernel", "dropped"]);
        for core in &self.cores {
            let rates = [core.received, core.forwarded, core.to_kernel, core.dropped];
            cores.push(std::iter::once(core.number.to_string()).chain(rates.map(frames)));
        }
        let mut reasons = Table::new("")
            .texts(["not forwarded because", "port", "fate"])
            .numbers(["now", "in all"]);
        for reason in &self.reasons {
            reasons.push([
                reason.name.clone(),
                reason.port.clone(),
                reason.fate.clone(),
                frames(reason.rate),
                grouped(reason.total),
            ]);
        }
        for table in [&ports, &cores, &reasons] {
            // Writing to a string does not fail.
            let _ = write!(text, "\n{}", table.to_text());
        }
        text + &hitters::shown(&self.hitters)
    }

    fn health(&self) -> String {
        let engine = &self.engine;
        let milliseconds = |key: &str| engine[key].as_f64().unwrap_or(0.0) * 1e3;
        let number = |value: &Value| grouped(value.as_u64().unwrap_or(0));
        let verification = &engine["verification"];
        let verified = match verification["equal"].as_bool() {
            None => "not compared with the kernel yet".to_owned(),
            Some(true) => format!(
                "equal to the kernel in {} answers",
                number(&verification["compared"])
            ),
            Some(false) => format!(
                "DIFFERENT from the kernel in {} answers (corelane verify)",
                number(&verification["different"])
            ),
        };
        let mut text = format!(
            "engine {}, {} resident; {verified}\nmirror lag {:.2} ms (longest {:.2} ms), {} \
             announcements, {} re-reads, {} overruns\n",
            text(engine, "engine"),
            report::units::Bytes(engine["resident_bytes"].as_u64().unwrap_or(0)),
            milliseconds("lag_seconds"),
            milliseconds("lag_max_seconds"),
            number(&engine["messages"]),
            number(&engine["resyncs"]),
            number(&engine["overruns"]),
        );
        for kept in rows(&engine["left_to_kernel"]) {
            let _ = writeln!(text, "left to the kernel: {}", kept.as_str().unwrap_or(""));
        }
        text
    }
}

#[cfg(test)]
#[path = "../../tests/unit/rates.rs"]
mod tests;
