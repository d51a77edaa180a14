//! All verbs, as the program's own help lists them.

use std::process::{Command, Stdio};

/// The help of a verb.
pub(crate) fn help(words: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_corelane"))
        .args(words)
        .arg("--help")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}");
    assert!(output.stderr.is_empty(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names that a help lists below "Commands:".
pub(crate) fn below(help: &str) -> Vec<String> {
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

/// The verbs.
pub(crate) fn verbs() -> Vec<String> {
    let verbs = below(&help(&[]));
    assert!(verbs.len() >= 13, "{verbs:?}");
    verbs
}

/// The verbs and those below them, in words, each with its help.
pub(crate) fn all() -> Vec<(Vec<String>, String)> {
    let mut all = Vec::new();
    add(&mut all, &[]);
    all
}

fn add(all: &mut Vec<(Vec<String>, String)>, words: &[String]) {
    let help = help(words);
    let names = below(&help);
    if !words.is_empty() {
        all.push((words.to_vec(), help));
    }
    for name in names {
        add(all, &[words, &[name]].concat());
    }
}
