//! The curve of the speed-up, and the straight line that holds all three laws.

use report::{Axis, Plot, Series};

use super::{first_placement, placement_name};
use crate::harness::plan::Placement;
use crate::laws::form::Form;
use crate::result::{PointResult, ScaleResult};

/// Speed-up over cores: measured, law, forecast band.
pub(super) fn curve(result: &ScaleResult) -> Plot {
    let most = result.points.iter().map(|p| p.cores).max().unwrap_or(1);
    let end = result.law.forecast.last().map_or(most, |band| band.cores);
    let mut plot = Plot::new(
        "Speed-up",
        Axis::new("cores"),
        Axis::new("speed-up").from_zero(),
    );
    for (index, placement) in [Placement::Pinned, Placement::Free].into_iter().enumerate() {
        let points: Vec<&PointResult> = result
            .points
            .iter()
            .filter(|p| p.placement == placement)
            .collect();
        if points.is_empty() {
            continue;
        }
        let mut series =
            Series::line(format!("measured, {}", placement_name(placement))).colour(index);
        for point in points {
            series = series.spread(f64::from(point.cores), point.speedup, point.low, point.high);
        }
        plot = plot.series(series);
    }
    let ideal = Series::reference("linear")
        .point(1.0, 1.0)
        .point(f64::from(most), f64::from(most))
        .colour(7);
    plot = plot.series(ideal);
    if let Some(fit) = result.law.choice.fit()
        && fit.form != Form::Linear
    {
        let mut law = Series::reference(fit.form.name()).colour(3);
        for step in 0..=40 {
            let n = 1.0 + f64::from(step) / 40.0 * (f64::from(most) - 1.0);
            law = law.point(n, fit.law.speedup(n));
        }
        plot = plot.series(law);
    }
    for (name, pick) in [("forecast, at most", true), ("forecast, at least", false)] {
        let Some(last) = result
            .points
            .iter()
            .rfind(|p| p.placement == first_placement(result))
        else {
            break;
        };
        let mut edge = Series::reference(name)
            .point(f64::from(last.cores), last.speedup)
            .colour(if pick { 4 } else { 5 });
        for band in &result.law.forecast {
            edge = edge.point(
                f64::from(band.cores),
                if pick {
                    band.speedup.high
                } else {
                    band.speedup.low
                },
            );
        }
        if edge.points.len() > 1 {
            plot = plot.series(edge);
        }
    }
    plot.caption(format!(
        "Measured to {most} core{}; beyond that a band, to {end} and no further.",
        if most == 1 { "" } else { "s" }
    ))
}

/// Karp and Flatt's fraction over the core count: one straight line holds all three laws.
pub(super) fn straight_line(result: &ScaleResult) -> Plot {
    let mut series = Series::line("e(N) measured");
    for point in result
        .points
        .iter()
        .filter(|p| p.placement == first_placement(result))
    {
        if let Some(e) = point.karp_flatt {
            series = series.point(f64::from(point.cores), e);
        }
    }
    let mut plot =
        Plot::new("Serial fraction", Axis::new("cores"), Axis::new("e(N)")).series(series);
    if let Some(fit) = result.law.choice.fit() {
        let line = |n: f64| fit.law.serial_fraction(n);
        let most = f64::from(result.points.iter().map(|p| p.cores).max().unwrap_or(2));
        plot = plot.series(
            Series::reference("sigma + kappa N")
                .point(2.0, line(2.0))
                .point(most, line(most)),
        );
    }
    plot.caption(
        "Flat is a serial share (Amdahl), rising is the price of agreement (coherency), falling \
         is more cache.",
    )
}
