use super::*;
use crate::testing::study;

#[test]
fn the_page_has_verdict_tables_plots_and_environment() {
    let html = report::html::render(&page(&study()));
    for part in [
        "1.98×",
        "Table 1.",
        "Table 2.",
        "Table 3.",
        "Table 4.",
        "Speed-up against cores",
        "processor",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("<figure class=\"plot\">"));
}

#[test]
fn the_summary_is_text_without_markup() {
    let text = report::terminal::render(&summary(&study()));
    assert!(text.contains("Table 3.") && !text.contains('<'));
}
