//! `docs/reference.md`: every verb's options, as the program itself tells them.
//!
//! `make reference` writes it anew.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use crate::pages::repository;

/// How the page begins.
const HEAD: &str = "\
# Every verb and option

`make reference` makes this page from the program's own help. What all verbs have in common:
[verbs.md](verbs.md). The configuration's keys: [router.md](router.md#configuration).
";

fn help(words: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_corelane"))
        .args(words)
        .arg("--help")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names that a help lists below "Commands:".
fn below(help: &str) -> Vec<String> {
    let Some((_, listed)) = help.split_once("Commands:\n") else {
        return Vec::new();
    };
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Adds the help of a verb, then those of the verbs below it.
fn tell(page: &mut String, words: &[String]) {
    let help = help(words);
    if !words.is_empty() {
        let level = if words.len() == 1 { "##" } else { "###" };
        let name = words.join(" ");
        let said: Vec<&str> = help.lines().map(str::trim_end).collect();
        let said = said.join("\n");
        let said = said.trim();
        write!(page, "\n{level} corelane {name}\n\n```text\n{said}\n```\n").unwrap();
    }
    for name in below(&help) {
        tell(page, &[words, &[name]].concat());
    }
}

#[test]
fn the_reference_is_what_the_program_says() {
    let mut page = HEAD.to_owned();
    tell(&mut page, &[]);
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
