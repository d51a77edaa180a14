//! A comparison as a document: verdict in sentences, tables, the four figures of the article side by side.

use report::{
    Block, Document,
    plot::{Axis, Plot, Series},
    table::Table,
    units::prefixed,
};

use crate::{
    deployment::Deployment,
    protocol::UserPlaneMode,
    result::{Cause, Cell, Comparison, Plane, Protocol},
};

/// A change of the median smaller than this is within the noise of a shared machine and not called one.
const NOTICED: f64 = 0.05;
const MODES: [UserPlaneMode; 2] = [UserPlaneMode::Kernel, UserPlaneMode::UserSpace];

/// What is printed: verdict and tables.
pub fn summary(comparison: &Comparison) -> Document {
    let mut document = opening(comparison);
    document.blocks = tables(comparison).into_iter().map(Block::Table).collect();
    document.text(format!("Measured on {}.", comparison.environment.machine()))
}

/// The page: verdict, figures, tables, method, environment.
pub fn page(comparison: &Comparison) -> Document {
    let mut document =
        opening(comparison).text(format!("Measured on {}.", comparison.environment.machine()));
    document
        .blocks
        .extend(plots(comparison).into_iter().map(Block::Plot));
    document = document.heading("Tables");
    document
        .blocks
        .extend(tables(comparison).into_iter().map(Block::Table));
    document = document.heading("How it was measured").text(format!(
        "The user plane's core is {}; the tester, the control plane and the management plane share the others. Throughput is the \
         highest rate at which no more than one frame in a thousand was lost, delay and jitter come from a trial at half the rate that the user plane carried \
         alone. The management plane was asked {} times a second by a timetable; response time counts from the intended start. \
         During all trials the control plane changed {} routes a second over the link to the user plane.",
        comparison.user_core, comparison.requests_per_second, comparison.route_changes_per_second
    ));
    for line in &comparison.not_measured {
        document = document.text(format!("Not measured: {line}"));
    }
    document.environment(comparison.environment.facts())
}

fn opening(comparison: &Comparison) -> Document {
    Document {
        verdict: verdict(comparison),
        ..Document::new("User plane and management plane, on one kernel and on several")
    }
}

/// One sentence for every deployment and mode, one for every cause, one for what was not measured.
pub fn verdict(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for deployment in comparison.deployments() {
        for mode in MODES {
            sentences.extend(influence(comparison, deployment, mode));
        }
    }
    for (index, cause) in comparison.causes.iter().enumerate() {
        let first = comparison.causes[..index]
            .iter()
            .all(|earlier| (earlier.deployment, earlier.plane) != (cause.deployment, cause.plane));
        if first {
            sentences.push(explanation(comparison, cause));
        }
    }
    for cell in &comparison.cells {
        if let Some(remark) = &cell.remark {
            sentences.push(format!(
                "{}, packets in {}, {} bytes{}: {remark}.",
                cell.deployment.name(),
                mode_name(cell.user_plane_mode),
                cell.payload_bytes,
                if cell.other_plane_load {
                    " beside requests"
                } else {
                    ""
                }
            ));
        }
    }
    if !comparison.not_measured.is_empty() {
        sentences.push(format!(
            "Not measured here: {}.",
            comparison.not_measured.join("; ")
        ));
    }
    sentences
}

/// "AMP, kernel forwarding, 64 bytes: requests take 12 % of the user plane's throughput; packets …"
fn influence(
    comparison: &Comparison,
    deployment: Deployment,
    mode: UserPlaneMode,
) -> Option<String> {
    let smallest = comparison
        .cells_of(deployment, Plane::User, mode, Protocol::Udp)
        .map(|cell| cell.payload_bytes)
        .min()?;
    let user = |load| comparison.cell(deployment, Plane::User, mode, smallest, load);
    let (alone, beside) = (user(false)?.throughput_bps?, user(true)?.throughput_bps?);
    let packets = change("the user plane's throughput", alone, beside);
    let response = |bytes, load| {
        comparison
            .cell(deployment, Plane::Management, mode, bytes, load)?
            .response_p50_ms
    };
    let requests = match (response(0, false), response(smallest, true)) {
        (Some(alone), Some(beside)) => format!(
            "; packets {} a request's median response ({alone:.1} to {beside:.1} ms)",
            if beside > alone * (1.0 + NOTICED) {
                "lengthen"
            } else {
                "do not lengthen"
            }
        ),
        _ => String::new(),
    };
    Some(format!(
        "{}, {}, {smallest} bytes: {} alone; requests {packets}{requests}.",
        deployment.name(),
        mode_name(mode),
        prefixed(alone, "bit/s"),
    ))
}

fn change(what: &str, alone: f64, beside: f64) -> String {
    let lost = 1.0 - beside / alone;
    if lost.abs() < NOTICED {
        format!("change {what} by less than {:.0} %", NOTICED * 100.0)
    } else if lost > 0.0 {
        format!("take {:.0} % of {what}", lost * 100.0)
    } else {
        format!("raise {what} by {:.0} %, which is noise", -lost * 100.0)
    }
}

fn explanation(comparison: &Comparison, of: &Cause) -> String {
    let causes: Vec<&Cause> = comparison
        .causes
        .iter()
        .filter(|cause| (cause.deployment, cause.plane) == (of.deployment, of.plane))
        .collect();
    let plane = match of.plane {
        Plane::User => "user plane",
        Plane::Management => "management plane",
    };
    let clear = |cause: &&Cause| cause.low > cause.control.max(0.0) + NOTICED;
    let mut named: Vec<&Cause> = causes.iter().copied().filter(clear).collect();
    named.sort_by(|a, b| b.share.total_cmp(&a.share));
    let explained: f64 = named.iter().map(|cause| cause.share).sum();
    if named.is_empty() {
        let tried: Vec<&str> = causes.iter().map(|cause| cause.channel.as_str()).collect();
        return format!(
            "Why the {plane} is disturbed under {}: none of the channels tried ({}) stands clear of its control.",
            of.deployment.name(),
            tried.join(", ")
        );
    }
    let shares: Vec<String> = named
        .iter()
        .map(|cause| {
            format!(
                "{} {:.0} % ({:.0} to {:.0} %)",
                cause.channel,
                cause.share * 100.0,
                cause.low * 100.0,
                cause.high * 100.0
            )
        })
        .collect();
    let rest = if explained > 1.0 {
        format!(
            "the shares overlap and add up to {:.0} %",
            explained * 100.0
        )
    } else {
        format!("{:.0} % remain unexplained", (1.0 - explained) * 100.0)
    };
    format!(
        "What disturbs the {plane} under {}: {}; {rest}.",
        of.deployment.name(),
        shares.join(", ")
    )
}

fn tables(comparison: &Comparison) -> Vec<Table> {
    let mut tables = vec![user_table(comparison), management_table(comparison)];
    tables.push(tcp_table(comparison));
    tables.push(channel_table(comparison));
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
                    mode_name(mode).to_owned(),
                    alone.payload_bytes.to_string(),
                    bits(rate(alone)),
                    bits(beside.and_then(rate)),
                    match (rate(alone), beside.and_then(rate)) {
                        (Some(alone), Some(beside)) if alone > 0.0 => {
                            format!("{:+.0} %", (beside / alone - 1.0) * 100.0)
                        }
                        _ => "-".to_owned(),
                    },
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
                    mode_name(mode).to_owned(),
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

fn tcp_table(comparison: &Comparison) -> Table {
    let mut table = Table::new("One TCP connection across the user plane (iperf3)")
        .text("deployment")
        .text("packets in")
        .number("bit/s alone")
        .number("beside requests");
    for deployment in comparison.deployments() {
        for mode in MODES {
            let rate = |load| {
                comparison
                    .cells_of(deployment, Plane::User, mode, Protocol::Tcp)
                    .find(|cell| cell.other_plane_load == load)
                    .and_then(|cell| cell.throughput_bps)
            };
            if rate(false).is_some() || rate(true).is_some() {
                table.push([
                    deployment.name().to_owned(),
                    mode_name(mode).to_owned(),
                    bits(rate(false)),
                    bits(rate(true)),
                ]);
            }
        }
    }
    table
}

fn channel_table(comparison: &Comparison) -> Table {
    let mut table = Table::new("The channel between control and user plane")
        .text("deployment")
        .number("one way")
        .number("there and back")
        .number("p99")
        .number("packets/s")
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
                    mode_name(mode).to_owned(),
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

fn plots(comparison: &Comparison) -> Vec<Plot> {
    let mut plots = Vec::new();
    for mode in MODES {
        plots.push(throughput_plot(comparison, mode));
    }
    for mode in MODES {
        plots.push(response_plot(comparison, mode));
    }
    plots.retain(|plot| !plot.series.is_empty());
    plots
}

/// Figures 7 and 8 of the article: throughput against payload.
fn throughput_plot(comparison: &Comparison, mode: UserPlaneMode) -> Plot {
    let mut plot = Plot::new(
        format!("User plane's throughput, packets in {}", mode_name(mode)),
        Axis::new("payload, bytes"),
        Axis::new("throughput, Gbit/s"),
    )
    .caption("Solid: alone. Dashed: while the management plane is asked.");
    for (colour, deployment) in comparison.deployments().into_iter().enumerate() {
        for load in [false, true] {
            let mut series = if load {
                Series::reference(format!("{} beside requests", deployment.name()))
            } else {
                Series::line(deployment.name())
            }
            .colour(colour);
            for cell in comparison
                .cells_of(deployment, Plane::User, mode, Protocol::Udp)
                .filter(|cell| cell.other_plane_load == load)
            {
                if let Some(rate) = cell.throughput_bps {
                    series = series.point(f64::from(cell.payload_bytes), rate / 1e9);
                }
            }
            if !series.points.is_empty() {
                plot = plot.series(series);
            }
        }
    }
    plot
}

/// Figures 9 and 10 of the article: response time against the payload of the packets beside it.
fn response_plot(comparison: &Comparison, mode: UserPlaneMode) -> Plot {
    let mut plot = Plot::new(
        format!("Median response beside packets in {}", mode_name(mode)),
        Axis::new("payload of the packets, bytes (0: no packets)"),
        Axis::new("response, ms"),
    )
    .caption("Requests that timed out are not in the median; the table counts them.");
    for (colour, deployment) in comparison.deployments().into_iter().enumerate() {
        let mut series = Series::line(deployment.name()).colour(colour);
        for cell in comparison.cells_of(deployment, Plane::Management, mode, Protocol::Udp) {
            if let Some(response) = cell.response_p50_ms {
                series = series.point(f64::from(cell.payload_bytes), response);
            }
        }
        if !series.points.is_empty() {
            plot = plot.series(series);
        }
    }
    plot
}

fn mode_name(mode: UserPlaneMode) -> &'static str {
    match mode {
        UserPlaneMode::Kernel => "kernel",
        UserPlaneMode::UserSpace => "user space",
    }
}

fn bits(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| prefixed(rate, ""))
}

fn time(ns: Option<f64>) -> String {
    match ns {
        None => "-".to_owned(),
        Some(ns) if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        Some(ns) if ns >= 1e3 => format!("{:.1} µs", ns / 1e3),
        Some(ns) => format!("{ns:.0} ns"),
    }
}

fn milliseconds(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}"))
}

fn count(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
