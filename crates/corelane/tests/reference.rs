//! `docs/reference.md`: every verb's options, as the program itself tells them.
//!
//! `make reference` writes it anew.

use std::fmt::Write as _;

use crate::pages::repository;
use crate::verbs;

/// How the page begins.
const HEAD: &str = "\
# Every verb and option

`make reference` makes this page from the program's own help. What all verbs have in common:
[verbs.md](verbs.md). The configuration's keys: [router.md](router.md#configuration).
";

/// Adds the help of every verb.
fn options(page: &mut String) {
    for (words, help) in verbs::all() {
        let level = if words.len() == 1 { "##" } else { "###" };
        let name = words.join(" ");
        let said: Vec<&str> = help.lines().map(str::trim_end).collect();
        let said = said.join("\n");
        let said = said.trim();
        write!(page, "\n{level} corelane {name}\n\n```text\n{said}\n```\n").unwrap();
    }
}

#[test]
fn the_reference_is_what_the_program_says() {
    let mut page = HEAD.to_owned();
    options(&mut page);
    assert!(page.contains("## corelane run") && page.contains("### corelane scale ab"));
    let file = repository().join("docs/reference.md");
    if std::env::var_os("CORELANE_WRITE_REFERENCE").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference.md is not what the program says: `make reference` writes it anew"
    );
}
