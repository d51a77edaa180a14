//! Tables.

use report::Table;

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
