//! Plain text.

use report::terminal::render;
use report::{Block, Document};

#[test]
fn markup_stays_off_the_terminal() {
    let document = Document::new("T")
        .verdict("V.")
        .text("P.")
        .block(Block::Html("<b>x</b>".into()));
    assert_eq!(render(&document), "T\n=\n\nV.\n\nP.\n\n");
}
