//! The page: markup, style, script and what is known of reasons, in one text.

use std::fs::File;
use std::io::{self, Read};

use fastpath::forward::Reason;
use serde_json::{Value, json};

use super::squeezed::SCRIPT;

const MARKUP: &str = include_str!("console.html");
const STYLE: &str = include_str!("console.css");

/// The page, and the policy that browsers hold it to: nothing but its own style and script, which a
/// number tells from any other that somebody may smuggle in.
///
/// # Errors
/// When the system has no random numbers.
pub(super) fn page() -> io::Result<(String, String)> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let nonce = u128::from_ne_bytes(bytes);
    let nonce = format!("{nonce:032x}");
    let page = filled(&nonce);
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    Ok((page, policy))
}

/// The page with a recording (`corelane-recording/1`) in it, which shows that without a router.
///
/// # Errors
/// As [`page`].
pub fn replay(recording: &str) -> io::Result<String> {
    const PLACE: &str = "id=\"recorded\">";
    let (page, _) = page()?;
    // Nothing in it ends the element that it is in.
    let recording = recording.replace('<', "\\u003c");
    Ok(page.replace(PLACE, &format!("{PLACE}{recording}")))
}

fn filled(nonce: &str) -> String {
    MARKUP
        .replace("NONCE", nonce)
        .replace("/*STYLE*/", STYLE)
        .replace("/*SCRIPT*/", SCRIPT)
        .replace(
            "\"REASONS\"",
            &reasons().to_string().replace('<', "\\u003c"),
        )
}

/// What each reason says, and what to do about it.
fn reasons() -> Value {
    let reason = |reason: &Reason| {
        let meaning = reason.meaning().split_whitespace().collect::<Vec<_>>();
        let said = json!({
            "meaning": meaning.join(" "),
            "remedy": reason.remedy(),
            "kernel": reason.is_punted(),
        });
        (reason.name().to_owned(), said)
    };
    Value::Object(Reason::ALL.iter().map(reason).collect())
}
