//! The timeline of each event, drawn: of all its runs the one that lost most.

use report::{Axis, Plot, Series, Style, capital};

use crate::result::{FleetLab, Run, Runs};

/// A title and a drawing for each event.
pub(crate) fn timelines(lab: &FleetLab) -> Vec<(String, Plot)> {
    let all = lab.by_event();
    let drawn = all.iter().filter_map(|runs| {
        let run = worst(runs)?;
        let title = capital(&runs.words());
        let lost = match run.lost {
            0 => "no frame lost".to_owned(),
            1 => "one frame lost".to_owned(),
            lost => format!("{lost} frames lost"),
        };
        Some((format!("Timeline: {title}, {lost}"), draw(run, runs)))
    });
    drawn.collect()
}

/// The run that lost most, and of equal ones the first.
fn worst<'a>(runs: &Runs<'a>) -> Option<&'a Run> {
    let backwards = runs.all.iter().rev();
    backwards.copied().max_by_key(|run| run.lost)
}

fn draw(run: &Run, runs: &Runs<'_>) -> Plot {
    let line = &run.timeline;
    let points = |mut series: Series, counts: &[u32]| {
        // The last step may be a part of one.
        let whole = counts.len().saturating_sub(1);
        for (place, &count) in counts.iter().enumerate().take(whole) {
            // In the middle of the step.
            let x = line.begins_ms + line.step_ms * (place as f64 + 0.5);
            series = series.point(x, f64::from(count));
        }
        series
    };
    let top = f64::from(line.sent.iter().copied().max().unwrap_or(0));
    let mark = |name: String, colour, x| {
        let mark = Series::new(name, Style::Scatter).colour(colour);
        mark.spread(x, 0.0, 0.0, top)
    };
    let mut plot = Plot::new(
        format!(
            "{}, run {} of node {}",
            capital(&runs.words()),
            run.repetition,
            run.node
        ),
        Axis::new("ms from the event"),
        Axis::new(format!("frames in {:.0} ms", line.step_ms)).from_zero(),
    )
    .series(points(Series::reference("sent").colour(7), &line.sent))
    .series(points(
        Series::new("came", Style::Trace).colour(0),
        &line.came,
    ))
    .series(points(
        Series::new(format!("came by node {}", run.node), Style::Trace).colour(5),
        &line.by_node,
    ))
    .series(mark("event".to_owned(), 1, 0.0));
    for (what, colour, moment) in [("noticed", 2, run.noticed_ms), ("healed", 3, run.healed_ms)] {
        if let Some(moment) = moment {
            plot = plot.series(mark(format!("{what} after {moment:.0} ms"), colour, moment));
        }
    }
    let count = runs.all.len();
    plot.caption(match count {
        1 => "Frames by the time at which they were sent.".to_owned(),
        _ if run.lost == 0 => {
            format!("Frames by the time at which they were sent, in the first of {count} runs.")
        }
        _ => format!(
            "Frames by the time at which they were sent, in the one of {count} runs that lost most."
        ),
    })
}
