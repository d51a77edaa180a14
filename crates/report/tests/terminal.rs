//! Plain text.

use report::terminal::render;
use report::{Block, Document};

#[test]
fn markup_and_details_stay_off_the_terminal() {
    let document = Document::new("T")
        .verdict("V.")
        .text("P.")
        .details("D", vec![Block::Text("F.".into())])
        .block(Block::Html("<b>x</b>".into()));
    assert_eq!(render(&document), "T\n=\n\nV.\n\nP.\n\n");
}
