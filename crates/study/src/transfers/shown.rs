//! Transfers as tables and sentences.

use report::Table;
use report::units::{Share, Times};
use router::engine::EngineKind;

use super::plan::Case;
use super::{LINUX, Load, Row, Transfers};
use crate::tables::{NOTHING, figure};

impl Transfers {
    /// The cases, in their order.
    fn keys(&self) -> Vec<Case> {
        let mut keys: Vec<Case> = self.rows.iter().map(|row| row.key).collect();
        keys.dedup();
        keys
    }

    /// The row of a device with a case.
    fn row(&self, engine: &str, key: Case) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.engine == engine && row.key == key)
    }

    /// The devices beside Linux alone, in their order.
    fn engines(&self) -> Vec<&str> {
        let mut engines: Vec<&str> = Vec::new();
        for row in &self.rows {
            if row.engine != LINUX && !engines.contains(&row.engine.as_str()) {
                engines.push(&row.engine);
            }
        }
        engines
    }

    /// Table 6: a line for each case; what Linux alone carries, and how many times that each
    /// engine.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new("Table 6. Transfers between two hosts, payload")
            .text("what")
            .numbers(["Linux, bit/s", "CPU s/Gbit"]);
        let engines = self.engines();
        for engine in &engines {
            table = table.number(*engine);
        }
        for key in self.keys() {
            let linux = self.row(LINUX, key);
            let rate = linux.map(|row| figure(row.payload_bits_per_second));
            let times = engines.iter().map(|engine| {
                let row = self.row(engine, key);
                let times = |row: &Row| match row.against_linux {
                    Some(times) => Times(times.value).to_string(),
                    None if linux.is_some() => NOTHING.to_owned(),
                    None => figure(row.payload_bits_per_second),
                };
                row.map_or(NOTHING.to_owned(), times)
            });
            let first = [
                key.in_words(),
                rate.unwrap_or_else(|| NOTHING.to_owned()),
                linux.map_or(NOTHING.to_owned(), cpu),
            ];
            table.push(first.into_iter().chain(times));
        }
        table.caption(self.caption())
    }

    /// Table 7: everything that was measured of each device and case.
    pub(crate) fn details(&self) -> Table {
        let mut table = Table::new("Table 7. Transfers, case by case")
            .texts(["what", "engine"])
            .numbers(["payload bit/s", "lowest to highest round", "layer-2 bit/s"])
            .numbers(["against Linux", "interval", "CPU s/Gbit"])
            .numbers(["by the engine", "sent again", "lost"])
            .number("rounds with a flow that stood still");
        let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
        for row in &self.rows {
            let against = row.against_linux.as_ref();
            let is_tcp = row.key.load == Load::Tcp;
            table.push([
                row.key.in_words(),
                row.engine.clone(),
                figure(row.payload_bits_per_second),
                format!("{} to {}", figure(row.low), figure(row.high)),
                or_nothing(row.layer_2_bits_per_second.map(figure)),
                or_nothing(against.map(|times| Times(times.value).to_string())),
                or_nothing(against.map(|times| format!("{:.2}", times.interval))),
                cpu(row),
                or_nothing(row.by_engine.map(|share| Share(share).to_string())),
                or_nothing(is_tcp.then(|| format!("{:.0}", row.repeated_segments))),
                or_nothing((!is_tcp).then(|| Share(row.lost).to_string())),
                row.silent_rounds.to_string(),
            ]);
        }
        table
    }

    /// `TCP through the router (auto): 1.20× (1.10 to 1.31) of Linux alone by one flow, …`: the engine that
    /// `corelane run` chooses by itself, with what a new veth does.
    pub(crate) fn verdict(&self) -> Option<String> {
        let engine = EngineKind::default().name();
        let of_flow = |row: &Row| {
            let ratio = row.against_linux?;
            let (low, high) = (ratio.interval.low, ratio.interval.high);
            let times = if low <= 1.0 && 1.0 <= high {
                "no difference".to_owned()
            } else {
                Times(ratio.value).to_string()
            };
            let times = format!("{times} ({low:.2} to {high:.2})");
            Some(match row.key.flows {
                1 => format!("{times} by one flow"),
                flows => format!("{times} by {flows}"),
            })
        };
        let ordinary = |row: &&Row| row.engine == engine && row.key.is_ordinary();
        let parts: Vec<String> = self
            .rows
            .iter()
            .filter(ordinary)
            .filter_map(of_flow)
            .collect();
        (!parts.is_empty()).then(|| {
            format!(
                "TCP through the router ({engine}), beside Linux alone: {} (offloads on, MTU \
                 1500).",
                parts.join(", ")
            )
        })
    }

    /// Under table 6: which transfers are slower than without the router, which stood still, which
    /// were not.
    fn caption(&self) -> String {
        let mut sentences = vec![format!(
            "Payload over the kernel's own sockets, in {} of {:.0} ms; CPU is the busy time of \
             the whole machine, hosts included.",
            match self.rounds {
                1 => "one round".to_owned(),
                rounds => format!("{rounds} interleaved rounds"),
            },
            self.trial_milliseconds
        )];
        let engines = self.engines();
        sentences.extend(engines.iter().filter_map(|engine| self.slower(engine)));
        let all = std::iter::once(LINUX).chain(engines);
        let silent: Vec<String> = all.filter_map(|engine| self.silent(engine)).collect();
        if !silent.is_empty() {
            sentences.push(format!(
                "A flow stood still through the second half of a transfer: {}.",
                silent.join(", ")
            ));
        }
        sentences.extend(self.left_out.iter().cloned());
        sentences.join(" ")
    }

    /// In how many cases an engine is slower than Linux alone beyond doubt.
    fn slower(&self, engine: &str) -> Option<String> {
        let rows = self.rows.iter().filter(|row| row.engine == engine);
        let times: Vec<_> = rows.filter_map(|row| row.against_linux).collect();
        let slower = times.iter().filter(|times| times.interval.high < 1.0);
        let (slower, all) = (slower.count(), times.len());
        (slower > 0).then(|| format!("{engine} is slower than Linux alone in {slower} of {all}."))
    }

    /// In how many transfers of an engine a flow stood still.
    fn silent(&self, engine: &str) -> Option<String> {
        let rows = self.rows.iter().filter(|row| row.engine == engine);
        let silent: usize = rows.clone().map(|row| row.silent_rounds).sum();
        let all: usize = rows.map(|row| row.rounds.unwrap_or(self.rounds)).sum();
        (silent > 0).then(|| format!("{engine} in {silent} of {all}"))
    }

    /// How it was measured.
    pub(crate) fn method(&self) -> String {
        format!(
            "Transfers go from a sender in one namespace to a receiver in another, through veth \
             pairs of one queue and the device between them. The device follows the kernel's own \
             routes. A flow has a thread at each end, pinned to cores in turn; sender, device and \
             receiver share the cores. Offloads on is what a new veth does; off is ethtool -K tx \
             off tso off gso off gro on at the hosts. Senders of UDP wait while 1,024 datagrams \
             are on their way. Steal was {} at most.",
            Share(self.rows.iter().map(|row| row.steal).fold(0.0, f64::max))
        )
    }
}

/// Busy seconds of the machine for a gigabit.
fn cpu(row: &Row) -> String {
    let seconds = row.cpu_seconds_per_gigabit;
    seconds.map_or(NOTHING.to_owned(), |seconds| format!("{seconds:.3}"))
}
