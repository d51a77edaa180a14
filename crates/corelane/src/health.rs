//! `corelane health`: whether a running router does what it was asked to.

use report::Table;
use serde_json::Value;

use crate::common::{Outcome, answer};
use crate::show::{Which, ask};

/// Say whether a running router is ready, and if not why
///
/// Exit code 0: ready; 3: not. It is ready when routes are followed, answers are the kernel's, all
/// ports forward, all workers run, and nothing is left to the kernel or has failed: all of it for
/// five seconds. It is not when something of it has failed for two, or while it is draining.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let health = ask(&arguments.which, "health")?;
    let is = |what: &str| health[what] == Value::Bool(true);
    let mut table = Table::new("").texts(["condition", "holds", "reason"]);
    for condition in health["conditions"].as_array().into_iter().flatten() {
        let text = |key: &str| condition[key].as_str().unwrap_or_default();
        let holds = if condition["holds"] == Value::Bool(true) {
            "yes"
        } else {
            "no"
        };
        table.push([text("what"), holds, text("reason")]);
    }
    let said = match (is("ready"), is("draining")) {
        (true, _) => "ready",
        (false, true) => "draining",
        (false, false) => "not ready",
    };
    let text = format!("{said}\n\n{}", table.to_text());
    arguments.which.json.deliver(&text, &health)?;
    Ok(answer(is("ready")))
}
