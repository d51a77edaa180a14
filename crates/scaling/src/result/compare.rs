//! The same command on several machines, side by side: which machine does most with its cores.

use report::{Axis, Block, Document, Plot, Series, Table};

use serde::{Deserialize, Serialize};

use super::ScaleResult;
use super::show::{first_placement, first_points, placement_name};

/// The name of this format.
pub const SCHEMA: &str = "corelane-scale-comparison/1";

/// Results that `corelane scale compare` sets side by side.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// As they were given: the others are held against the first.
    pub results: Vec<ScaleResult>,
}

impl Comparison {
    /// Of these results, in this order.
    pub fn of(results: Vec<ScaleResult>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            results,
        }
    }

    /// The comparison for reading.
    pub fn document(&self) -> Document {
        compare(&self.results)
    }
}

/// What does not fit when results are compared.
pub fn misfits(results: &[ScaleResult]) -> Vec<String> {
    let Some(first) = results.first() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for other in &results[1..] {
        if other.command != first.command {
            found.push(format!(
                "the commands differ: `{}` and `{}`; rates are not comparable, speed-ups with care",
                first.command.join(" "),
                other.command.join(" ")
            ));
        }
        if other.mode != first.mode {
            found.push(format!(
                "the modes differ: {} and {}",
                first.mode.name(),
                other.mode.name()
            ));
        }
        let (here, there) = (first_placement(first), first_placement(other));
        if here != there {
            found.push(format!(
                "the placements differ: {} and {}",
                placement_name(here),
                placement_name(there)
            ));
        }
    }
    found
}

/// Compares results: one column a machine, against the first.
fn compare(results: &[ScaleResult]) -> Document {
    let name = |index: usize, result: &ScaleResult| {
        let host = if result.environment.host.is_empty() {
            "machine"
        } else {
            result.environment.host.as_str()
        };
        format!("{}: {host}", char::from(b'A' + (index % 26) as u8))
    };
    let mut table = Table::new("Rate by core count").number("cores");
    for (index, result) in results.iter().enumerate() {
        table = table
            .number(name(index, result))
            .numbers(["speed-up", "of A"]);
    }
    let mut counts: Vec<u32> = results
        .iter()
        .flat_map(|r| r.points.iter().map(|p| p.cores))
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let at = |result: &ScaleResult, cores| first_points(result).find(|p| p.cores == cores).cloned();
    for &cores in &counts {
        let base = results.first().and_then(|r| at(r, cores)).map(|p| p.rate);
        let mut row = vec![cores.to_string()];
        for result in results {
            match at(result, cores) {
                Some(point) => row.extend([
                    format!("{:.4}", point.rate),
                    format!("{:.2}", point.speedup),
                    base.map_or_else(|| "–".to_owned(), |b| format!("{:.2}", point.rate / b)),
                ]),
                None => row.extend(["–".to_owned(), "–".to_owned(), "–".to_owned()]),
            }
        }
        table.push(row);
    }
    let unit = results.first().map_or("work", |r| r.unit.as_str());
    let placement = results.first().map_or_else(String::new, |result| {
        placement_name(first_placement(result))
    });
    let mut plot = Plot::new(
        "Rate",
        Axis::new("cores"),
        Axis::new(format!("{unit} a second")).from_zero(),
    );
    for (index, result) in results.iter().enumerate() {
        let mut series = Series::line(name(index, result));
        for point in first_points(result) {
            series = series.point(f64::from(point.cores), point.rate);
        }
        plot = plot.series(series);
    }
    let mut document = Document::new("Scaling compared");
    for (index, result) in results.iter().enumerate() {
        document = document.verdict(format!("{}: {}", name(index, result), result.sentence));
    }
    for misfit in misfits(results) {
        document = document.verdict(format!("Beware: {misfit}."));
    }
    document = document
        .block(Block::Table(
            table.caption(format!("Rates in {unit} a second, {placement}.")),
        ))
        .block(Block::Plot(plot));
    let facts = results
        .iter()
        .enumerate()
        .flat_map(|(index, result)| {
            let name = name(index, result);
            [
                (name.clone(), result.environment.machine()),
                (format!("{name}, command"), result.command.join(" ")),
            ]
        })
        .collect();
    document.environment(facts)
}
