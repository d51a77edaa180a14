//! Plots, as SVG and in characters.

use report::plot::Size;
use report::{Axis, Plot, Series};

/// Mean width of a character at 12 px in a proportional system font.
const CHARACTER: f64 = 6.6;

fn plot() -> Plot {
    Plot::new("T<", Axis::new("x"), Axis::new("y").from_zero())
        .series(
            Series::line("a & b")
                .point(0.0, 0.0)
                .spread(1.0, 5.0, 2.0, 8.0),
        )
        .series(Series::reference("ideal").point(0.0, 0.0).point(1.0, 10.0))
}

#[test]
fn points_land_where_the_axes_say() {
    let svg = plot().to_svg(Size::Wide);
    // y runs 0 to 10, x 0 to 1: the line ends half way up at the right edge.
    assert!(svg.contains("d=\"M64.0 376.0L744.0 212.0\""), "{svg}");
    assert!(svg.contains("a &amp; b") && svg.contains("aria-label=\"T&lt;\""));
    assert_eq!(svg.matches("class=\"range\"").count(), 1);
    assert_eq!(
        svg.matches("class=\"mark\"").count(),
        2 + 1,
        "two points and the legend"
    );
}

#[test]
fn the_last_word_of_an_axis_ends_inside_the_drawing() {
    let points = Series::line("a").point(0.0, 1.0).point(1_500.0, 2.0);
    let svg = Plot::new("", Axis::new("bytes"), Axis::new("")).series(points);
    let svg = svg.to_svg(Size::Narrow);
    let view = svg.split_once("viewBox=\"0 0 ").expect("a view");
    let width: f64 = view
        .1
        .split(' ')
        .next()
        .and_then(|width| width.parse().ok())
        .expect("a width");
    let word = svg.split("<text ").find(|text| text.contains(">1.5 k<"));
    let middle: f64 = word
        .and_then(|text| text.strip_prefix("x=\"")?.split('"').next()?.parse().ok())
        .unwrap_or_else(|| panic!("no \"1.5 k\" in {svg}"));
    assert!(middle + 5.0 * CHARACTER / 2.0 <= width, "{middle}");
}

#[test]
fn opened_tags_are_closed() {
    for size in [Size::Wide, Size::Narrow] {
        let svg = plot().to_svg(size);
        for tag in ["svg", "g", "text", "title"] {
            let opened =
                svg.matches(&format!("<{tag}>")).count() + svg.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, svg.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}

#[test]
fn bars_stand_side_by_side_on_the_base() {
    let svg = Plot::new(
        "",
        Axis::new("").categories(["p", "q"]),
        Axis::new("").from_zero(),
    )
    .series(Series::bars("a").point(0.0, 1.0).point(1.0, 2.0))
    .series(Series::bars("b").point(0.0, 2.0).point(1.0, 4.0))
    .to_svg(Size::Wide);
    assert_eq!(svg.matches("<rect class=\"bar\"").count(), 4 + 2);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn values_that_are_no_numbers_are_left_out() {
    let svg = Plot::new("", Axis::new("").logarithmic(), Axis::new("").logarithmic())
        .series(
            Series::line("a")
                .point(0.0, 1.0)
                .point(1.0, f64::NAN)
                .point(10.0, 10.0),
        )
        .to_svg(Size::Wide);
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn a_limit_with_one_point_is_seen() {
    let svg = |points: &[f64]| {
        let limit = Series::reference("limit");
        let add = |series: Series, &at: &f64| series.point(at, 2.0);
        Plot::new("", Axis::new(""), Axis::new(""))
            .series(points.iter().fold(limit, add))
            .to_svg(Size::Wide)
    };
    assert!(svg(&[1.0]).contains("limit: 2 at 1"));
    assert!(!svg(&[1.0, 2.0]).contains("limit: 2 at 1"));
}

#[test]
fn a_file_of_its_own_brings_its_colours() {
    let svg = plot().to_svg_file();
    assert!(svg.contains("prefers-color-scheme") && svg.contains("--s0"));
}

#[test]
fn marks_stand_where_the_values_are() {
    let text = Plot::new("T", Axis::new("x"), Axis::new("y").from_zero())
        .series(Series::line("one").point(0.0, 0.0).point(1.0, 10.0))
        .to_text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[2].find('a'), Some(5 + 64), "{text}");
    assert_eq!(lines[16].find('a'), Some(5));
    assert_eq!(lines.last(), Some(&"  a one"));
}
