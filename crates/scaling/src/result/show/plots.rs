//! The curve of the speed-up, and the straight line that holds all three laws.

use report::{Axis, Plot, Series};

use super::{first_points, placement_name};
use crate::harness::plan::Placement;
use crate::laws::form::Form;
use crate::result::ScaleResult;

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
        let mut series =
            Series::line(format!("measured, {}", placement_name(placement))).colour(index);
        for point in result.points.iter().filter(|p| p.placement == placement) {
            series = series.spread(f64::from(point.cores), point.speedup, point.low, point.high);
        }
        if !series.points.is_empty() {
            plot = plot.series(series);
        }
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
    if let Some(last) = first_points(result).last()
        && !result.law.forecast.is_empty()
    {
        let edge = |name| Series::reference(name).point(f64::from(last.cores), last.speedup);
        let mut most = edge("forecast, at most").colour(4);
        let mut least = edge("forecast, at least").colour(5);
        for band in &result.law.forecast {
            most = most.point(f64::from(band.cores), band.speedup.high);
            least = least.point(f64::from(band.cores), band.speedup.low);
        }
        plot = plot.series(most).series(least);
    }
    plot.caption(format!(
        "Measured to {most} core{}; beyond that a band, to {end} and no further.",
        if most == 1 { "" } else { "s" }
    ))
}

/// Karp and Flatt's fraction over the core count: one straight line holds all three laws.
pub(super) fn straight_line(result: &ScaleResult) -> Plot {
    let mut series = Series::line("e(N) measured");
    for point in first_points(result) {
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
