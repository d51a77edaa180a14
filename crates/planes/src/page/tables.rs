//! The comparison in tables: what is printed, shown on the page and put into documents.

use report::table::Table;
use report::units::prefixed;

use super::{MODES, bits, count, loss, milliseconds, percent, time};
use crate::result::{Cell, Comparison, Measure, Method, Plane, Protocol};

pub(super) fn tables(comparison: &Comparison) -> Vec<Table> {
    let mut tables = vec![user_table(comparison), management_table(comparison)];
    tables.push(second_opinions(comparison));
    tables.push(cause_table(comparison));
    tables.push(channel_table(comparison));
    tables.push(cost_table(comparison));
    tables.push(route_table(comparison));
    tables.push(core_table(comparison));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn user_table(comparison: &Comparison) -> Table {
    let mut table =
        Table::new("User plane: throughput, delay and jitter, alone and beside requests")
            .text("deployment")
            .text("packets in")
            .number("payload bytes")
            .number("bit/s alone")
            .number("beside requests")
            .number("change")
            .number("loss alone")
            .number("beside")
            .number("delay p99 alone")
            .number("beside")
            .number("jitter alone")
            .number("beside");
    for deployment in comparison.deployments() {
        for mode in MODES {
            for alone in comparison
                .cells_of(deployment, Plane::User, mode, Protocol::Udp)
                .filter(|cell| !cell.other_plane_load)
            {
                let beside =
                    comparison.cell(deployment, Plane::User, mode, alone.payload_bytes, true);
                let rate = |cell: &Cell| cell.throughput_bps;
                table.push([
                    deployment.name().to_owned(),
                    mode.name().to_owned(),
                    alone.payload_bytes.to_string(),
                    bits(rate(alone)),
                    bits(beside.and_then(rate)),
                    match (rate(alone), beside.and_then(rate)) {
                        (Some(alone), Some(beside)) if alone > 0.0 => {
                            format!("{:+.0} %", (beside / alone - 1.0) * 100.0)
                        }
                        _ => "-".to_owned(),
                    },
                    alone.loss.map_or_else(|| "-".to_owned(), loss),
                    beside
                        .and_then(|cell| cell.loss)
                        .map_or_else(|| "-".to_owned(), loss),
                    time(alone.delay_p99_ns.map(|ns| ns as f64)),
                    time(
                        beside
                            .and_then(|cell| cell.delay_p99_ns)
                            .map(|ns| ns as f64),
                    ),
                    time(alone.jitter_ns),
                    time(beside.and_then(|cell| cell.jitter_ns)),
                ]);
            }
        }
    }
    table
}

fn management_table(comparison: &Comparison) -> Table {
    let mut table = Table::new("Management plane: responses, alone and beside packets")
        .text("deployment")
        .text("packets in")
        .number("payload bytes")
        .number("median ms")
        .number("p99 ms")
        .number("timeouts")
        .number("of requests");
    for deployment in comparison.deployments() {
        for mode in MODES {
            for cell in comparison.cells_of(deployment, Plane::Management, mode, Protocol::Udp) {
                let payload = if cell.other_plane_load {
                    cell.payload_bytes.to_string()
                } else {
                    "no packets".to_owned()
                };
                table.push([
                    deployment.name().to_owned(),
                    mode.name().to_owned(),
                    payload,
                    milliseconds(cell.response_p50_ms),
                    milliseconds(cell.response_p99_ms),
                    count(cell.timeouts),
                    count(cell.requests),
                ]);
            }
        }
    }
    table
}

fn second_opinions(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "The same by iperf3: one TCP connection, one flow of datagrams at the rate found",
    )
    .text("deployment")
    .text("packets in")
    .text("protocol")
    .number("bytes a packet")
    .number("bit/s alone")
    .number("beside requests")
    .number("loss alone")
    .number("beside")
    .number("jitter alone")
    .number("beside");
    let names = [(Protocol::Tcp, "TCP"), (Protocol::UdpIperf, "UDP")];
    for deployment in comparison.deployments() {
        for mode in MODES {
            for (protocol, name) in names {
                let cells = || comparison.cells_of(deployment, Plane::User, mode, protocol);
                for alone in cells().filter(|cell| !cell.other_plane_load) {
                    let beside = cells().find(|cell| {
                        cell.other_plane_load && cell.payload_bytes == alone.payload_bytes
                    });
                    let share = |cell: &Cell| cell.loss.map(loss);
                    let of = |figure: Option<String>| figure.unwrap_or_else(|| "-".to_owned());
                    table.push([
                        deployment.name().to_owned(),
                        mode.name().to_owned(),
                        name.to_owned(),
                        alone.payload_bytes.to_string(),
                        bits(alone.throughput_bps),
                        bits(beside.and_then(|cell| cell.throughput_bps)),
                        of(share(alone)),
                        of(beside.and_then(share)),
                        time(alone.jitter_ns),
                        time(beside.and_then(|cell| cell.jitter_ns)),
                    ]);
                }
            }
        }
    }
    table
}

fn channel_table(comparison: &Comparison) -> Table {
    let mut table = Table::new("The channel between control and user plane: its speed")
        .text("deployment")
        .number("one way")
        .number("there and back")
        .number("p99")
        .number("messages/s, 64 bytes")
        .number("kernel up after");
    for of in &comparison.channels {
        table.push([
            of.deployment.name().to_owned(),
            time(of.channel.one_way_ns),
            time(Some(of.channel.round_trip_ns)),
            time(Some(of.channel.round_trip_p99_ns)),
            prefixed(of.channel.packets_per_second, ""),
            of.boot_seconds
                .map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.2} s")),
        ]);
    }
    table
}

fn cost_table(comparison: &Comparison) -> Table {
    let mut table =
        Table::new("The channel between control and user plane: what messages cost the user plane")
            .text("deployment")
            .number("messages/s")
            .number("its core, a message")
            .number("delay p99 without")
            .number("with")
            .number("loss without")
            .number("with");
    for of in &comparison.channels {
        let Some(cost) = &of.cost else { continue };
        table.push([
            of.deployment.name().to_owned(),
            cost.messages_per_second.to_string(),
            // Below a tick of the kernel's clock nothing is known.
            cost.core_ns_per_message
                .map_or_else(|| "-".to_owned(), |ns| time(Some(ns.max(0.0)))),
            time(cost.delay_p99_rest_ns),
            time(cost.delay_p99_ns),
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
    .text("deployment")
    .text("packets in")
    .number("sent")
    .number("in effect")
    .number("refused");
    for of in &comparison.routes {
        table.push([
            of.deployment.name().to_owned(),
            of.user_plane_mode.name().to_owned(),
            of.sent.to_string(),
            of.applied.to_string(),
            of.refused.to_string(),
        ]);
    }
    table
}

fn core_table(comparison: &Comparison) -> Table {
    let mut table =
        Table::new("What the cores did while both planes were loaded, smallest payload")
            .text("deployment")
            .text("packets in")
            .number("core")
            .number("busy")
            .number("of it in interrupts")
            .number("interrupts/s")
            .number("softirqs/s")
            .number("stolen");
    for deployment in comparison.deployments() {
        for mode in MODES {
            let cell = comparison
                .cells_of(deployment, Plane::User, mode, Protocol::Udp)
                .filter(|cell| cell.other_plane_load)
                .min_by_key(|cell| cell.payload_bytes);
            for core in cell.into_iter().flat_map(|cell| &cell.cores) {
                table.push([
                    deployment.name().to_owned(),
                    mode.name().to_owned(),
                    core.core.to_string(),
                    percent(core.busy),
                    percent(core.interrupt),
                    format!("{:.0}", core.interrupts_per_second),
                    format!("{:.0}", core.softirqs_per_second),
                    percent(core.steal),
                ]);
            }
        }
    }
    table
}

fn cause_table(comparison: &Comparison) -> Table {
    let mut table = Table::new(
        "Why a plane is disturbed: one shared thing at a time, shares of the whole disturbance",
    )
    .text("deployment")
    .text("packets in")
    .text("disturbed")
    .text("shared thing")
    .text("how")
    .number("share")
    .number("interval")
    .number("control")
    .text("clear");
    for cause in &comparison.causes {
        let disturbed = match cause.measure {
            Measure::Loss => "user plane: loss",
            Measure::DelayP99 => "user plane: delay p99",
            Measure::Response => "management: response",
        };
        let range = |low, high| format!("{}..{}", percent(low), percent(high));
        let place = [
            cause.deployment.name(),
            cause.user_plane_mode.name(),
            disturbed,
        ];
        for of in &cause.channels {
            table.push(
                place.map(str::to_owned).into_iter().chain([
                    of.channel.clone(),
                    match of.method {
                        Method::Removed => "taken away",
                        Method::Pressed => "pressed on",
                    }
                    .to_owned(),
                    percent(of.share),
                    range(of.low, of.high),
                    range(of.control_low, of.control_high),
                    if of.clear { "yes" } else { "no" }.to_owned(),
                ]),
            );
        }
        table.push(place.map(str::to_owned).into_iter().chain([
            "remainder".to_owned(),
            String::new(),
            percent(cause.remainder),
            String::new(),
            String::new(),
            String::new(),
        ]));
    }
    table
}
