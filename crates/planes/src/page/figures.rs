//! The four figures of the article, side by side.

use agent::protocol::UserPlaneMode;
use report::plot::{Axis, Plot, Series};

use super::MODES;
use crate::result::{Comparison, Plane, Protocol};

pub(super) fn plots(comparison: &Comparison) -> Vec<Plot> {
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
        format!("User plane's throughput, packets in {}", mode.name()),
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
        format!("Median response beside packets in {}", mode.name()),
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
