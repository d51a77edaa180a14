//! Tables.

use report::Table;
use report::table::bar;

fn sample() -> Table {
    Table::new("Rates")
        .text("engine")
        .number("frames/s")
        .row(["memory", "31.4 M"])
        .row(["kernel"])
        .caption("Why <so>.")
}

#[test]
fn text_is_aligned() {
    let expected =
        "Rates\nengine  frames/s\n------  --------\nmemory    31.4 M\nkernel\nWhy <so>.\n";
    assert_eq!(sample().to_text(), expected);
}

#[test]
fn html_escapes_and_aligns() {
    let html = sample().to_html();
    assert!(html.contains("<td class=\"n\">31.4 M</td>"));
    assert!(html.contains("Why &lt;so&gt;."));
    assert_eq!(html.matches("<tr>").count(), 3);
    assert_eq!(
        html.matches("<td").count(),
        4,
        "a short row is filled with empty cells"
    );
}

#[test]
fn markdown_has_every_row() {
    let markdown = sample().to_markdown();
    assert_eq!(markdown.lines().count(), 4);
    assert!(markdown.starts_with("| engine | frames/s |\n|---|---:|\n"));
}

#[test]
fn bars_are_for_the_eye_alone() {
    let table = Table::new("")
        .text("engine")
        .bars()
        .row(["fast".to_owned(), bar(1.0)])
        .row(["half".to_owned(), bar(0.5)])
        .row(["none".to_owned(), bar(0.0)]);
    let text = table.to_text();
    assert!(
        text.contains(&format!("fast    {}\n", "█".repeat(24))),
        "{text}"
    );
    let html = table.to_html();
    let drawn = |share: &str| {
        let cell = "<td class=\"bar\" aria-hidden=\"true\"><i style=\"width:";
        html.contains(&format!("{cell}{share}%\"></i></td>"))
    };
    assert!(drawn("100.0") && drawn("50.0"), "{html}");
    assert!(
        html.contains("<td>none</td><td class=\"bar\"></td>"),
        "{html}"
    );
    // A heading without words would be read as one.
    assert_eq!(html.matches("<th").count(), 2, "{html}");
}
