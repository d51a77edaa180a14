//! A plot as SVG: inside a page, where the page's style colours it, or as a file that brings its
//! style along.

use std::fmt::Write as _;

use super::axis::Fitted;
use super::{Plot, Point, Series, Style};
use crate::escape::{element, escape};
use crate::units::compact;

/// Colours and text of a drawing, also used by the page.
pub(crate) const STYLE: &str = include_str!("plot.css");
/// The colour variables for light and dark.
pub(crate) const COLOURS: &str = include_str!("../colours.css");
/// Series beyond this many use the first colours again.
const COLOUR_COUNT: usize = 8;

/// For which width of screen a drawing is made: text keeps its size, so a phone needs another
/// drawing than a desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A desk, a printed page, a document.
    Wide,
    /// A phone held upright.
    Narrow,
}

/// Lengths of a drawing in its own units, which are CSS pixels when shown at full size.
struct Geometry {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x_ticks: usize,
    y_ticks: usize,
}

/// Height of a text line.
const LINE: f64 = 18.0;
/// Mean width of a character at 12 px in a proportional system font.
const CHARACTER: f64 = 6.6;
/// Length of the sample in the legend.
const SAMPLE: f64 = 24.0;

impl Size {
    fn geometry(self) -> Geometry {
        let wide = Geometry {
            width: 760.0,
            height: 400.0,
            left: 64.0,
            right: 16.0,
            top: 26.0,
            bottom: 46.0,
            x_ticks: 8,
            y_ticks: 6,
        };
        match self {
            Self::Wide => wide,
            Self::Narrow => Geometry {
                width: 360.0,
                height: 320.0,
                left: 50.0,
                right: 10.0,
                x_ticks: 4,
                y_ticks: 5,
                ..wide
            },
        }
    }
}

impl Geometry {
    fn x(&self, share: f64) -> f64 {
        self.left + share * (self.width - self.left - self.right)
    }

    fn y(&self, share: f64) -> f64 {
        self.height - self.bottom - share * (self.height - self.bottom - self.top)
    }
}

impl Plot {
    /// The drawing for a page whose style sheet colours it.
    pub fn to_svg(&self, size: Size) -> String {
        self.draw(size, "")
    }

    /// The drawing as a file of its own: it brings its style and follows the reader's light or dark
    /// setting.
    pub fn to_svg_file(&self) -> String {
        let style = format!("<style>{COLOURS}{STYLE}svg{{background:var(--ground)}}</style>");
        self.draw(Size::Wide, &style)
    }

    fn draw(&self, size: Size, style: &str) -> String {
        let mut geometry = size.geometry();
        let (legend, legend_height) = self.legend(&geometry);
        geometry.top += legend_height;
        geometry.height += legend_height;
        let (xs, ys) = self.values();
        let x = self.x.fit(&xs, geometry.x_ticks);
        let y = self.y.fit(&ys, geometry.y_ticks);

        let mut out = String::new();
        let Geometry { width, height, .. } = geometry;
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" \
             role=\"img\" class=\"plot\" aria-label=\"{}\">{style}",
            escape(&self.title)
        );
        self.draw_axes(&mut out, &geometry, &x, &y);
        out.push_str(&legend);
        let bars = self.bars().count();
        let mut bar = 0;
        for (place, series) in self.series.iter().enumerate() {
            let colour = series.colour_at(place);
            let _ = write!(out, "<g class=\"s{colour}\">");
            let pen = Pen {
                geometry: &geometry,
                x: &x,
                y: &y,
                series,
                colour,
            };
            if series.style == Style::Bars {
                pen.bars(&mut out, bar, bars, self.narrowest_gap());
                bar += 1;
            } else {
                pen.line(&mut out);
            }
            out.push_str("</g>");
        }
        out.push_str("</svg>");
        out
    }

    fn draw_axes(&self, out: &mut String, geometry: &Geometry, x: &Fitted, y: &Fitted) {
        let (left, right) = (geometry.x(0.0), geometry.x(1.0));
        let (bottom, top) = (geometry.y(0.0), geometry.y(1.0));
        for (place, word) in y.marks() {
            let at = geometry.y(place);
            let _ = write!(
                out,
                "<path class=\"grid\" d=\"M{left:.1} {at:.1}H{right:.1}\"/><text x=\"{:.1}\" \
                 y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                at + 4.0,
                escape(word)
            );
        }
        let mut free_from = f64::NEG_INFINITY;
        for (place, word) in x.marks() {
            let at = geometry.x(place);
            let _ = write!(out, "<path class=\"axis\" d=\"M{at:.1} {bottom:.1}v4\"/>");
            // A word that would run into its left neighbour is left out; its tick stays.
            let half = word.chars().count() as f64 * CHARACTER / 2.0;
            // At the drawing's edges it moves inwards rather than be cut off.
            let middle = at.min(geometry.width - half).max(half);
            if middle - half > free_from {
                free_from = middle + half + 4.0;
                let _ = write!(
                    out,
                    "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                    bottom + 18.0,
                    escape(word)
                );
            }
        }
        let _ = write!(
            out,
            "<path class=\"axis\" d=\"M{left:.1} {top:.1}V{bottom:.1}H{right:.1}\"/><text \
             class=\"label\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text><text \
             class=\"label\" x=\"4\" y=\"{:.1}\">{}</text>",
            f64::midpoint(left, right),
            bottom + 38.0,
            escape(&self.x.label),
            top - 10.0,
            escape(&self.y.label)
        );
    }

    fn bars(&self) -> impl Iterator<Item = &Series> {
        let series = self.series.iter();
        series.filter(|series| series.style == Style::Bars)
    }

    /// The smallest distance between two bars' x values: the room a group of bars has.
    fn narrowest_gap(&self) -> f64 {
        let points = self.bars().flat_map(|series| &series.points);
        let mut xs: Vec<f64> = points.map(|point| point.x).collect();
        xs.sort_by(f64::total_cmp);
        let gap = xs
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|&gap| gap > 0.0)
            .fold(f64::INFINITY, f64::min);
        if gap.is_finite() { gap } else { 1.0 }
    }

    /// The legend and its height.
    fn legend(&self, geometry: &Geometry) -> (String, f64) {
        let mut markup = String::new();
        let (mut across, mut line) = (4.0, 0.0);
        for (place, series) in self.series.iter().enumerate() {
            if series.name.is_empty() {
                continue;
            }
            let width = SAMPLE + 6.0 + series.name.chars().count() as f64 * CHARACTER + 14.0;
            if across + width > geometry.width && across > 4.0 {
                across = 4.0;
                line += 1.0;
            }
            let middle = line * LINE + 9.0;
            let colour = series.colour_at(place);
            let _ = write!(markup, "<g class=\"s{colour}\">");
            if series.style == Style::Bars {
                let _ = write!(
                    markup,
                    "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\"/>",
                    across + 6.0,
                    middle - 6.0
                );
            } else {
                if series.style != Style::Scatter {
                    let _ = write!(
                        markup,
                        "<path class=\"{}\" d=\"M{across:.1} {middle:.1}h{SAMPLE}\"/>",
                        line_class(series.style)
                    );
                }
                if series.style.has_markers() {
                    marker(&mut markup, colour, across + SAMPLE / 2.0, middle, "");
                }
            }
            let _ = write!(
                markup,
                "</g><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                across + SAMPLE + 6.0,
                middle + 4.0,
                escape(&series.name)
            );
            across += width;
        }
        let height = if markup.is_empty() {
            0.0
        } else {
            (line + 1.0) * LINE + 4.0
        };
        (markup, height)
    }
}

impl Series {
    /// The colour of the series in this place of a plot.
    fn colour_at(&self, place: usize) -> usize {
        self.colour.unwrap_or(place) % COLOUR_COUNT
    }
}

/// Draws one series.
struct Pen<'a> {
    geometry: &'a Geometry,
    x: &'a Fitted,
    y: &'a Fitted,
    series: &'a Series,
    colour: usize,
}

impl Pen<'_> {
    /// The points that have a place on both axes, with it.
    fn placed(&self) -> impl Iterator<Item = (&Point, f64, f64)> {
        self.series.drawn().filter_map(|point| {
            let (x, y) = (self.x.place(point.x)?, self.y.place(point.y)?);
            Some((point, self.geometry.x(x), self.geometry.y(y)))
        })
    }

    fn line(&self, out: &mut String) {
        let style = self.series.style;
        let count = self.placed().count();
        if style != Style::Scatter && count > 1 {
            let mut path = String::new();
            for (index, (_, x, y)) in self.placed().enumerate() {
                let _ = match (index, style) {
                    (0, _) => write!(path, "M{x:.1} {y:.1}"),
                    (_, Style::Step) => write!(path, "H{x:.1}V{y:.1}"),
                    _ => write!(path, "L{x:.1} {y:.1}"),
                };
            }
            let _ = write!(out, "<path class=\"{}\" d=\"{path}\"/>", line_class(style));
        }
        for (point, x, y) in self.placed() {
            self.error_bar(out, point, x);
            // A line of one point would not be seen.
            if style.has_markers() || count == 1 {
                marker(out, self.colour, x, y, &self.title(point));
            }
        }
    }

    fn bars(&self, out: &mut String, bar: usize, bars: usize, gap: f64) {
        for (point, x, y) in self.placed() {
            let next = self.x.place(point.x + gap / 2.0).unwrap_or(1.0);
            let previous = self.x.place(point.x - gap / 2.0).unwrap_or(0.0);
            let room = (self.geometry.x(next) - self.geometry.x(previous)) * 0.8;
            let width = room / bars as f64;
            let left = x - room / 2.0 + width * bar as f64;
            let base = self.geometry.y(self.y.base());
            let _ = write!(
                out,
                "<rect class=\"bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
                 height=\"{:.1}\">{}</rect>",
                y.min(base),
                (width - 1.0).max(1.0),
                (base - y).abs(),
                element("title", &self.title(point))
            );
            self.error_bar(out, point, left + width / 2.0);
        }
    }

    fn error_bar(&self, out: &mut String, point: &Point, x: f64) {
        let place = |value: f64| Some(self.geometry.y(self.y.place(value)?));
        let range = point.range;
        let ends = range.and_then(|(low, high)| Some((place(low)?, place(high)?)));
        // Shorter than the marker it would only smudge it.
        if let Some((low, high)) = ends.filter(|(low, high)| low - high >= 3.0) {
            let left = x - 3.0;
            let _ = write!(
                out,
                "<path class=\"range\" d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} \
                 {low:.1}h6M{left:.1} {high:.1}h6\"/>"
            );
        }
    }

    fn title(&self, point: &Point) -> String {
        let [x, y] = [point.x, point.y].map(compact);
        let name = &self.series.name;
        match point.range.map(|(low, high)| (compact(low), compact(high))) {
            Some((low, high)) => format!("{name}: {y} at {x} ({low} to {high})"),
            None => format!("{name}: {y} at {x}"),
        }
    }
}

fn line_class(style: Style) -> &'static str {
    if style == Style::Reference {
        "line reference"
    } else {
        "line"
    }
}

/// Circle, square, triangle, diamond: filled for the first four colours, hollow for the next four.
fn marker(out: &mut String, colour: usize, x: f64, y: f64, title: &str) {
    let path = match colour % 4 {
        0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4.0),
        1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        2 => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
        _ => format!("M{x:.1} {:.1}l4.5 4.5l-4.5 4.5l-4.5 -4.5z", y - 4.5),
    };
    let class = if colour < 4 { "mark" } else { "mark hollow" };
    let _ = match title {
        "" => write!(out, "<path class=\"{class}\" d=\"{path}\"/>"),
        _ => write!(
            out,
            "<path class=\"{class}\" d=\"{path}\">{}</path>",
            element("title", title)
        ),
    };
}
