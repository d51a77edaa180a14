//! The comparison in tables: what is printed, shown on the page and put into documents.

use report::table::Table;

use super::words::{bits, loss, or_dash, percent, time};
use crate::deployment::{Deployment, Variant};
use crate::result::{Cell, Comparison, Measure, Method, Plane, Protocol};

pub(super) fn tables(comparison: &Comparison) -> Vec<Table> {
    let mut tables = vec![
        user_table(comparison),
        difference_table(comparison),
        management_table(comparison),
        second_opinions(comparison),
        cause_table(comparison),
        channel_table(comparison),
        cost_table(comparison),
        route_table(comparison),
        core_table(comparison),
    ];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The first cells of a row.
fn names(variant: Variant) -> Vec<String> {
    [variant.deployment.name(), variant.mode.name()]
        .map(str::to_owned)
        .to_vec()
}

/// The user plane alone, and the same beside requests.
struct Pair<'a>([Option<&'a Cell>; 2]);

impl Pair<'_> {
    fn cells(&self, words: impl Fn(&Cell) -> Option<String>) -> Vec<String> {
        let cell = |cell: Option<&Cell>| or_dash(cell.and_then(&words), |words| words);
        self.0.map(cell).to_vec()
    }

    fn bits(&self) -> Vec<String> {
        self.cells(|cell| cell.throughput_bps.map(bits))
    }

    fn loss(&self) -> Vec<String> {
        self.cells(|cell| cell.loss.map(loss))
    }

    fn jitter(&self) -> Vec<String> {
        self.cells(|cell| cell.jitter_ns.map(time))
    }
}

/// Every cell of the user plane alone, paired.
fn pairs(
    comparison: &Comparison,
    variant: Variant,
    protocol: Protocol,
) -> impl Iterator<Item = (&Cell, Pair<'_>)> {
    let cells = move || comparison.cells_of(variant, Plane::User, protocol);
    let alone = cells().filter(|cell| !cell.other_plane_load);
    alone.map(move |alone| {
        let same = |cell: &&Cell| cell.payload_bytes == alone.payload_bytes;
        let beside = cells().filter(|cell| cell.other_plane_load).find(same);
        (alone, Pair([Some(alone), beside]))
    })
}

fn user_table(comparison: &Comparison) -> Table {
    let mut table =
        Table::new("User plane: throughput, delay and jitter, alone and beside requests")
            .texts(["deployment", "packets in"])
            .numbers(["payload bytes", "bit/s alone", "beside requests", "change"])
            .numbers(["loss alone", "beside", "delay p99 alone", "beside"])
            .numbers(["jitter alone", "beside"]);
    for variant in comparison.variants() {
        for (alone, pair) in pairs(comparison, variant, Protocol::Udp) {
            let change = pair.0[1].and_then(|cell| cell.change);
            let change = or_dash(change, |change| {
                let [share, low, high] = [change.share, change.low, change.high];
                let [share, low, high] = [share, low, high].map(|share| share * 100.0);
                format!("{share:+.0} % ({low:+.0} to {high:+.0})")
            });
            let delay = |cell: &Cell| Some(time(cell.delay_p99_ns? as f64));
            table.push(
                [
                    names(variant),
                    vec![alone.payload_bytes.to_string()],
                    pair.bits(),
                    vec![change],
                    pair.loss(),
                    pair.cells(delay),
                    pair.jitter(),
                ]
                .concat(),
            );
        }
    }
    table
}

/// Every deployment's throughput against that of one kernel for each plane, in per cent.
fn difference_table(comparison: &Comparison) -> Table {
    let mut table = Table::new("User plane: difference of the throughput to AMP")
        .texts(["deployment", "packets in"])
        .numbers(["payload bytes", "alone", "beside requests"]);
    for variant in comparison.variants() {
        if variant.deployment == Deployment::Amp {
            continue;
        }
        let amp = Variant {
            deployment: Deployment::Amp,
            ..variant
        };
        for (alone, _) in pairs(comparison, variant, Protocol::Udp) {
            let payload = alone.payload_bytes;
            let differences = [false, true].map(|load| {
                let of = |variant| comparison.cell(variant, Plane::User, payload, load);
                difference(of(variant)?, of(amp)?)
            });
            if differences.iter().all(Option::is_none) {
                continue;
            }
            let words = differences.map(|found| {
                or_dash(found, |[share, low, high]| {
                    format!("{share:+.0} % ({low:+.0} to {high:+.0})")
                })
            });
            table.push(
                names(variant)
                    .into_iter()
                    .chain([payload.to_string()])
                    .chain(words),
            );
        }
    }
    table.caption(
        "The two were measured minutes apart, not in pairs: the bounds are those of the quotient \
         of their intervals.",
    )
}

/// By how many per cent the throughput of a cell exceeds another's, and the bounds of it; `None`
/// where one of the two has no interval.
fn difference(cell: &Cell, base: &Cell) -> Option<[f64; 3]> {
    let interval = |cell: &Cell| {
        let [low, high] = [cell.throughput_low_bps?, cell.throughput_high_bps?];
        (low > 0.0 && low < high).then_some((cell.throughput_bps?, low, high))
    };
    let ((own, own_low, own_high), (other, low, high)) = (interval(cell)?, interval(base)?);
    let quotients = [own / other, own_low / high, own_high / low];
    Some(quotients.map(|quotient| (quotient - 1.0) * 100.0))
}

fn management_table(comparison: &Comparison) -> Table {
    let mut table = Table::new("Management plane: responses, alone and beside packets")
        .texts(["deployment", "packets in"])
        .numbers(["payload bytes", "median ms", "p90 ms", "p99 ms"])
        .numbers(["timeouts", "of requests"]);
    for variant in comparison.variants() {
        for cell in comparison.cells_of(variant, Plane::Management, Protocol::Udp) {
            let payload = if cell.other_plane_load {
                cell.payload_bytes.to_string()
            } else {
                "no packets".to_owned()
            };
            let milliseconds = |ms| or_dash(ms, |ms: f64| format!("{ms:.1}"));
            let count = |number| or_dash(number, |number: u64| number.to_string());
            table.push(names(variant).into_iter().chain([
                payload,
                milliseconds(cell.response_p50_ms),
                milliseconds(cell.response_p90_ms),
                milliseconds(cell.response_p99_ms),
                count(cell.timeouts),
                count(cell.requests),
            ]));
        }
    }
    table
}

fn second_opinions(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "The same by iperf3: one TCP connection, one flow of datagrams at the rate found",
    )
    .texts(["deployment", "packets in", "protocol"])
    .numbers(["bytes a packet", "bit/s alone", "beside requests"])
    .numbers(["loss alone", "beside", "jitter alone", "beside"]);
    for variant in comparison.variants() {
        for (protocol, name) in [(Protocol::Tcp, "TCP"), (Protocol::UdpIperf, "UDP")] {
            for (alone, pair) in pairs(comparison, variant, protocol) {
                let what = vec![name.to_owned(), alone.payload_bytes.to_string()];
                let figures = [pair.bits(), pair.loss(), pair.jitter()].concat();
                table.push([names(variant), what, figures].concat());
            }
        }
    }
    table
}

fn channel_table(comparison: &Comparison) -> Table {
    let mut table = Table::new("The channel between control and user plane: its speed")
        .texts(["deployment"])
        .numbers(["one way", "there and back", "p99"])
        .numbers(["messages/s, 64 bytes", "kernel up after"]);
    for of in &comparison.channels {
        table.push([
            of.deployment.name().to_owned(),
            or_dash(of.channel.one_way_ns, time),
            time(of.channel.round_trip_ns),
            time(of.channel.round_trip_p99_ns),
            bits(of.channel.packets_per_second),
            or_dash(of.boot_seconds, |seconds| format!("{seconds:.2} s")),
        ]);
    }
    table
}

fn cost_table(comparison: &Comparison) -> Table {
    let mut table =
        Table::new("The channel between control and user plane: what messages cost the user plane")
            .texts(["deployment"])
            .numbers(["messages/s", "its core, a message"])
            .numbers(["delay p99 without", "with", "loss without", "with"]);
    for of in &comparison.channels {
        let Some(cost) = &of.cost else { continue };
        table.push([
            of.deployment.name().to_owned(),
            cost.messages_per_second.to_string(),
            // Below a tick of the kernel's clock nothing is known.
            or_dash(cost.core_ns_per_message, time),
            or_dash(cost.delay_p99_rest_ns, time),
            or_dash(cost.delay_p99_ns, time),
            loss(cost.loss_rest),
            loss(cost.loss),
        ]);
    }
    table
}

fn route_table(comparison: &Comparison) -> Table {
    let mut table = Table::new(format!(
        "The control plane's route changes ({}), {} a second",
        comparison.route_origin.name(),
        comparison.route_changes_per_second
    ))
    .texts(["deployment", "packets in"])
    .numbers(["sent", "in effect", "refused"]);
    for of in &comparison.routes {
        let counts = [of.sent, of.applied, of.refused].map(|count| count.to_string());
        table.push(names(of.variant).into_iter().chain(counts));
    }
    table
}

fn core_table(comparison: &Comparison) -> Table {
    let mut table =
        Table::new("What the cores did while both planes were loaded, smallest payload")
            .texts(["deployment", "packets in"])
            .numbers(["core", "busy", "of it in interrupts"])
            .numbers(["interrupts/s", "softirqs/s", "stolen"]);
    for variant in comparison.variants() {
        let cell = comparison
            .cells_of(variant, Plane::User, Protocol::Udp)
            .filter(|cell| cell.other_plane_load)
            .min_by_key(|cell| cell.payload_bytes);
        for core in cell.into_iter().flat_map(|cell| &cell.cores) {
            table.push(names(variant).into_iter().chain([
                core.core.to_string(),
                percent(core.busy),
                percent(core.interrupt),
                format!("{:.0}", core.interrupts_per_second),
                format!("{:.0}", core.softirqs_per_second),
                percent(core.steal),
            ]));
        }
    }
    table
}

fn cause_table(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "Why a plane is disturbed: one shared thing at a time, shares of the whole disturbance",
    )
    .texts(["deployment", "packets in", "disturbed"])
    .texts(["shared thing", "how"])
    .numbers(["share", "interval", "control"])
    .text("clear");
    for cause in &comparison.causes {
        let disturbed = match cause.measure {
            Measure::Loss => "user plane: loss",
            Measure::DelayP99 => "user plane: delay p99",
            Measure::Response => "management: response",
        };
        let range = |low, high| format!("{}..{}", percent(low), percent(high));
        let place = || {
            names(cause.variant)
                .into_iter()
                .chain([disturbed.to_owned()])
        };
        for of in &cause.channels {
            let how = match of.method {
                Method::Removed => "taken away",
                Method::Pressed => "pressed on",
            };
            table.push(place().chain([
                of.channel.clone(),
                how.to_owned(),
                percent(of.share),
                range(of.low, of.high),
                range(of.control_low, of.control_high),
                if of.clear { "yes" } else { "no" }.to_owned(),
            ]));
        }
        let remainder = ["remainder", "", &percent(cause.remainder)].map(str::to_owned);
        table.push(place().chain(remainder));
    }
    table
}

#[cfg(test)]
#[path = "../../tests/unit/tables.rs"]
mod tests;
