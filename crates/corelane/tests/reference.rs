//! `docs/reference.md`: every verb's options, every key, metric, reason and form, as the program
//! itself tells them.
//!
//! `make reference` writes it anew.

use std::fmt::Write as _;
use std::fs;

use fastpath::forward::Reason;
use router::management_plane::config::KEYS;
use router::management_plane::metrics::FAMILIES;
use serde_json::Value;

use crate::pages::repository;
use crate::verbs;

/// How the page begins.
const HEAD: &str = "\
# Reference

`make reference` makes this page from the program itself. What all verbs have in common:
[verbs.md](verbs.md).

- [Keys of the configuration](#keys-of-the-configuration)
- [Metrics](#metrics)
- [Reasons](#reasons)
- [Forms of documents](#forms-of-documents)
- [Verbs and options](#corelane-announce)
";

/// Adds a table below its heading.
fn table(page: &mut String, heading: &str, before: &str, names: &[&str], rows: &[Vec<String>]) {
    write!(page, "\n## {heading}\n\n{before}\n\n").unwrap();
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    page.push_str(&line(&names));
    writeln!(page, "|{}", "---|".repeat(names.len())).unwrap();
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        assert_eq!(cells.len(), names.len());
        page.push_str(&line(&cells));
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn keys(page: &mut String) {
    let row = |key: &router::management_plane::config::Key| {
        let allowed = key.allowed.trim_start_matches("allowed ");
        let allowed = allowed.trim_start_matches("are ").trim_start_matches("is ");
        vec![
            code(key.name),
            code(&key.default_value()),
            key.unit.to_owned(),
            allowed.to_owned(),
            key.meaning.to_owned(),
        ]
    };
    let before = "Of the file that `corelane run FILE` reads. More about each: \
                  [router.md](router.md#configuration).";
    let names = ["key", "default", "unit", "allowed", "what it is for"];
    let rows: Vec<_> = KEYS.iter().map(row).collect();
    table(page, "Keys of the configuration", before, &names, &rows);
}

fn metrics(page: &mut String) {
    let row = |family: &router::management_plane::metrics::Family| {
        vec![
            code(&format!("{}{}", family.name, family.suffix())),
            family.kind.to_owned(),
            family.help.to_owned(),
        ]
    };
    let before = "What a running router serves at `/metrics`: as OpenMetrics text for who accepts it, \
                  else as\nPrometheus text.";
    let rows: Vec<_> = FAMILIES.iter().map(row).collect();
    let names = ["metric", "type", "what it counts"];
    table(page, "Metrics", before, &names, &rows);
}

fn reasons(page: &mut String) {
    let row = |reason: &Reason| {
        let decides = if reason.is_punted() {
            "Linux"
        } else {
            "Corelane drops it"
        };
        vec![
            code(reason.name()),
            decides.to_owned(),
            reason.meaning().trim().to_owned(),
            reason.remedy().unwrap_or("–").to_owned(),
        ]
    };
    let before = "Why a frame was not forwarded, and who decides what becomes of it. Engine \
                  `af-xdp` has one\nmore, `socket-full`: its workers are too slow for what arrives.";
    let names = [
        "reason",
        "who decides",
        "what it says",
        "what to do when it grows",
    ];
    let rows: Vec<_> = Reason::ALL.iter().map(row).collect();
    table(page, "Reasons", before, &names, &rows);
}

/// The first paragraph of a type's documentation, without its links.
fn about(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    paragraph
        .replace('\n', " ")
        .replace("[`", "`")
        .replace("`]", "`")
}

fn forms(page: &mut String) {
    let directory = repository().join("docs/schemas");
    let entries = fs::read_dir(&directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    let row = |name: String| {
        let text = fs::read_to_string(directory.join(&name)).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let form = schema["properties"]["schema"]["const"].as_str();
        let link = format!("[{name}](schemas/{name})");
        vec![code(form.expect("it has a name")), about(&schema), link]
    };
    let rows: Vec<_> = names.into_iter().map(row).collect();
    let before = "What `--json` writes. What may change in a form: \
                  [verbs.md](verbs.md#forms-of-documents).";
    let names = ["form", "what it is", "JSON Schema"];
    table(page, "Forms of documents", before, &names, &rows);
}

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
    for chapter in [keys, metrics, reasons, forms, options] {
        chapter(&mut page);
    }
    assert!(page.contains("## corelane run") && page.contains("### corelane scale ab"));
    let file = repository().join("docs/reference.md");
    if std::env::var_os("CORELANE_WRITE_REFERENCE").is_some() {
        fs::write(&file, &page).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference.md is not what the program says: `make reference` writes it anew"
    );
}
