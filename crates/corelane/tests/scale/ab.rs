//! `corelane scale ab`: verdicts as exit codes.

use super::{corelane, shown_again, text};
use crate::schemas::assert_is;

/// `ab` of two shell commands that print a rate, so that the machine has no part in the verdict.
fn rates(a: &str, b: &str) -> std::process::Output {
    corelane(&[
        "ab",
        "--quick",
        "--progress",
        "rate:",
        "--json",
        "-",
        "--",
        "sh",
        "-c",
        a,
        "--",
        "sh",
        "-c",
        b,
    ])
}

#[test]
fn the_exit_code_is_the_verdict() {
    let same = "echo rate: 100";
    // Half as fast in one block, twice as fast in the next.
    let directory = tempfile::tempdir().unwrap();
    let counter = directory.path().join("runs").display().to_string();
    let fickle = format!(
        "n=$(cat {counter} 2>/dev/null || echo 0); echo $((n + 1)) > {counter}; \
         [ $(((n + 1) / 2 % 2)) = 0 ] && echo rate: 50 || echo rate: 200"
    );
    for (b, code, verdict) in [
        (same, 0, "not-slower"),
        ("echo rate: 110", 0, "faster"),
        ("echo rate: 95", 3, "slower"),
        (&fickle, 4, "cannot-tell"),
    ] {
        let output = rates(same, b);
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_is("corelane-scale-ab", &result);
        assert_eq!(result["verdict"], verdict, "{b}");
        assert_eq!(output.status.code(), Some(code), "{b}");
        let file = directory.path().join("ab.json");
        std::fs::write(&file, &output.stdout).unwrap();
        let told = shown_again(&file);
        assert!(told.starts_with("A against B"), "{told}");
        assert!(output.stderr.is_empty(), "no progress without a terminal");
    }
}

#[test]
fn the_sentence_has_the_ratio_and_its_interval() {
    let output = corelane(&[
        "ab",
        "--quick",
        "--progress",
        "rate:",
        "--",
        "echo",
        "rate: 100",
        "--",
        "echo",
        "rate: 80",
    ]);
    let said = text(&output.stdout);
    let sentence = "B is slower than A: it takes 1.250 [1.250, 1.250] times as long.";
    assert!(said.contains(sentence), "{said}");
}

#[test]
fn an_error_is_no_verdict() {
    for (commands, said) in [
        (&["true"][..], "1 commands were given"),
        (
            &["true", "--", "true", "--", "true"],
            "3 commands were given",
        ),
        (&["true", "--", "false"], "false on 1 core returned 1"),
    ] {
        let output = corelane(&[&["ab", "--"], commands].concat());
        assert_eq!(output.status.code(), Some(1), "{commands:?}");
        assert!(
            text(&output.stderr).contains(said),
            "{}",
            text(&output.stderr)
        );
    }
    assert_eq!(corelane(&["ab"]).status.code(), Some(2));
}
