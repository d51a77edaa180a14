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
fn the_page_opens_with_what_the_terminal_prints() {
    let study = study();
    let (page, answer) = (page(&study), crate::answer::answer(&study));
    assert_eq!(page.verdict, answer.verdict);
    assert!(!page.verdict.is_empty());
    assert_eq!(page.blocks[0], answer.blocks[0]);
    let [Block::Table(table), Block::Plot(_)] = &page.blocks[..2] else {
        panic!("{:?}", page.blocks);
    };
    assert!(table.title.contains("64 bytes"), "{}", table.title);
    assert_eq!(summary(&study).blocks[0], answer.blocks[0]);
}

#[test]
fn what_few_ask_for_is_folded() {
    let page = page(&study());
    let is_case =
        |block: &Block| matches!(block, Block::Table(table) if table.title.starts_with("Table 1."));
    assert!(!page.blocks.iter().any(is_case));
    let folded = page.blocks.iter().filter_map(|block| match block {
        Block::Details { blocks, .. } => Some(blocks),
        _ => None,
    });
    assert!(folded.flatten().any(is_case));
}

#[test]
fn the_summary_is_text_without_markup() {
    let text = report::terminal::render(&summary(&study()));
    assert!(text.contains("Table 3.") && !text.contains('<'));
}
