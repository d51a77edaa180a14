//! `docs/fleet.md`: what it has for FRR and BIRD is what these daemons accept.

use crate::pages::page;

/// The blocks of a page in this language.
pub(crate) fn blocks(language: &str) -> Vec<String> {
    let text = page("fleet.md");
    let begin = format!("```{language}\n");
    let blocks = text.split(&begin).skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

/// Has a program look at each block, which it gets as a file.
fn accepted(language: &str, program: &str, words: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let constant = directory.path().join("drain.conf");
    std::fs::write(&constant, "define corelane_draining = false;\n").unwrap();
    let file = directory.path().join("daemon.conf");
    let blocks = blocks(language);
    assert_eq!(blocks.len(), 2, "a node and a spreader");
    for block in blocks {
        let Some(mut command) = needs::command(program) else {
            return;
        };
        let here = constant.display().to_string();
        let block = block.replace("/etc/bird/corelane-drain.conf", &here);
        std::fs::write(&file, &block).unwrap();
        let output = command.args(words).arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}\n{block}");
    }
}

#[test]
fn frr_accepts_what_stands_there() {
    accepted("frr", "vtysh", &["-C", "-f"]);
}

#[test]
fn bird_accepts_what_stands_there() {
    accepted("bird", "bird", &["-p", "-c"]);
}
