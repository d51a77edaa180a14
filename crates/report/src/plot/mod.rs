//! Plots: what is drawn ([`Plot`]), and the two ways it is drawn (SVG and characters).
//!
//! A plot is data plus words. Colours are CSS variables, so the page decides them for light, dark
//! and print; every series also has its own marker and dash, so that none is told by colour alone.

mod axis;
pub(crate) mod svg;
mod text;

pub use axis::{Axis, Scale};
pub use svg::Size;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Markers joined by straight lines.
    Line,
    /// Markers alone.
    Scatter,
    /// A level held until the next point.
    Step,
    /// Straight lines without markers, for points that stand too close for these.
    Trace,
    /// A bar from zero (or the axis's lower end) at every x; several bar series stand side by side.
    Bars,
    /// A thin dashed line without markers: a limit, an ideal, a model.
    Reference,
}

impl Style {
    /// Whether each of its points has a marker.
    fn has_markers(self) -> bool {
        !matches!(self, Self::Reference | Self::Trace)
    }
}

/// One measured value, with the range it was seen in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position along the horizontal axis.
    pub x: f64,
    /// The value: usually a median.
    pub y: f64,
    /// Lowest and highest value seen, drawn as an error bar.
    pub range: Option<(f64, f64)>,
}

/// Points that belong together, with a name for the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Shown in the legend; empty keeps it out of the legend.
    pub name: String,
    /// How it is drawn.
    pub style: Style,
    /// Its points, in drawing order.
    pub points: Vec<Point>,
    /// Which of the eight colours and markers; `None` takes the place of the series in the plot.
    pub colour: Option<usize>,
}

impl Series {
    /// A series without points.
    pub fn new(name: impl Into<String>, style: Style) -> Self {
        Self {
            name: name.into(),
            style,
            points: Vec::new(),
            colour: None,
        }
    }

    /// A [`Style::Line`] series without points.
    pub fn line(name: impl Into<String>) -> Self {
        Self::new(name, Style::Line)
    }

    /// A [`Style::Bars`] series without points.
    pub fn bars(name: impl Into<String>) -> Self {
        Self::new(name, Style::Bars)
    }

    /// A [`Style::Reference`] series without points.
    pub fn reference(name: impl Into<String>) -> Self {
        Self::new(name, Style::Reference)
    }

    /// Adds a point without a range.
    #[must_use]
    pub fn point(mut self, x: f64, y: f64) -> Self {
        self.points.push(Point { x, y, range: None });
        self
    }

    /// Adds a point seen between `low` and `high`.
    #[must_use]
    pub fn spread(mut self, x: f64, y: f64, low: f64, high: f64) -> Self {
        self.points.push(Point {
            x,
            y,
            range: Some((low, high)),
        });
        self
    }

    /// The points that have a place.
    fn drawn(&self) -> impl Iterator<Item = &Point> {
        self.points
            .iter()
            .filter(|point| point.x.is_finite() && point.y.is_finite())
    }

    /// Fixes the colour and marker (0 to 7), for a series that appears in several plots.
    #[must_use]
    pub fn colour(mut self, colour: usize) -> Self {
        self.colour = Some(colour);
        self
    }
}

/// A plot: two axes, series, and the sentence that says what to see in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Shown above.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, in legend order.
    pub series: Vec<Series>,
    /// A sentence shown below; empty for none.
    pub caption: String,
}

impl Plot {
    /// A plot without series.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
            caption: String::new(),
        }
    }

    /// Adds a series.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Sets the sentence below.
    #[must_use]
    pub fn caption(mut self, sentence: impl Into<String>) -> Self {
        self.caption = sentence.into();
        self
    }

    /// The finite coordinates of all points and ranges along x and y.
    fn values(&self) -> (Vec<f64>, Vec<f64>) {
        let drawn = || self.series.iter().flat_map(Series::drawn);
        let ranges = drawn().filter_map(|point| point.range);
        let spread = ranges.flat_map(|(low, high)| [low, high]);
        let xs = drawn().map(|point| point.x).collect();
        let ys = drawn()
            .map(|point| point.y)
            .chain(spread.filter(|value| value.is_finite()))
            .collect();
        (xs, ys)
    }
}
