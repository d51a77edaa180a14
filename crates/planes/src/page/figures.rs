//! The four figures of the article, side by side.

use agent::protocol::UserPlaneMode;
use report::plot::{Axis, Plot, Series};

use crate::deployment::{MODES, Variant};
use crate::result::{Cell, Comparison, Plane, Protocol};

pub(super) fn plots(comparison: &Comparison) -> Vec<Plot> {
    let throughput = MODES.map(|mode| throughput_plot(comparison, mode));
    let response = MODES.map(|mode| response_plot(comparison, mode));
    let mut plots = [throughput, response].concat();
    plots.retain(|plot| !plot.series.is_empty());
    plots
}

/// Figures 7 and 8 of the article: throughput against payload.
fn throughput_plot(comparison: &Comparison, mode: UserPlaneMode) -> Plot {
    let mut plot = Plot::new(
        format!("User plane's throughput, packets in {}", mode.name()),
        Axis::new("payload, bytes"),
        Axis::new("throughput, Gbit/s"),
    )
    .caption("Solid: alone. Dashed: while the management plane is asked.");
    for (colour, deployment) in comparison.deployments().into_iter().enumerate() {
        let name = deployment.name();
        for (load, series) in [
            (false, Series::line(name)),
            (true, Series::reference(format!("{name} beside requests"))),
        ] {
            let cells = comparison
                .cells_of(Variant { deployment, mode }, Plane::User, Protocol::Udp)
                .filter(|cell| cell.other_plane_load == load);
            let rate = |cell: &Cell| Some(cell.throughput_bps? / 1e9);
            plot = with_points(plot, series.colour(colour), cells, rate);
        }
    }
    plot
}

/// Figures 9 and 10 of the article: response time against the payload of the packets beside it.
fn response_plot(comparison: &Comparison, mode: UserPlaneMode) -> Plot {
    let mut plot = Plot::new(
        format!("Median response beside packets in {}", mode.name()),
        Axis::new("payload of the packets, bytes (0: no packets)"),
        Axis::new("response, ms"),
    )
    .caption("Requests that timed out are not in the median; the table counts them.");
    for (colour, deployment) in comparison.deployments().into_iter().enumerate() {
        let variant = Variant { deployment, mode };
        let cells = comparison.cells_of(variant, Plane::Management, Protocol::Udp);
        let series = Series::line(deployment.name()).colour(colour);
        plot = with_points(plot, series, cells, |cell| cell.response_p50_ms);
    }
    plot
}

/// Adds `series` with a point for each cell that has the figure, if any has.
fn with_points<'a>(
    plot: Plot,
    series: Series,
    cells: impl Iterator<Item = &'a Cell>,
    figure: impl Fn(&Cell) -> Option<f64>,
) -> Plot {
    let points = cells.filter_map(|cell| Some((f64::from(cell.payload_bytes), figure(cell)?)));
    let series = points.fold(series, |series, (x, y)| series.point(x, y));
    if series.points.is_empty() {
        plot
    } else {
        plot.series(series)
    }
}
