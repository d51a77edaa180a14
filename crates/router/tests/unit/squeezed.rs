//! Of `router/src/management_plane/console/squeezed.rs`.

use super::*;

#[test]
fn what_browsers_do_not_need_is_left_out_and_nothing_else() {
    let text = "\"use strict\";\n// words\n\n/** one line */\nlet a = 1; // stays\n/**\n * more\n *   \
                lines */\n  if (a) {\n    /** @type {X} */ (b).c();\n    d(`//`);\n  }\n";
    let (bytes, length) = squeeze::<400>(text);
    let left = std::str::from_utf8(&bytes[..length]).unwrap();
    assert_eq!(
        left,
        "\"use strict\";\nlet a = 1; // stays\nif (a) {\n/** @type {X} */ (b).c();\nd(`//`);\n}\n"
    );
}

#[test]
fn the_script_is_the_source_but_for_that() {
    let words = |text: &str| {
        let lines = text.lines().map(str::trim);
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with(['/', '*']);
        lines.filter(is_code).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(words(SCRIPT), words(SOURCE));
    assert!(!SCRIPT.contains("@param {string} id */\n"));
    // A text over several lines would lose its indentation.
    assert!(
        SOURCE
            .lines()
            .all(|line| line.matches('`').count() % 2 == 0)
    );
}
