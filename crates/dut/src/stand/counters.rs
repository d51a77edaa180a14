//! What a device that nobody sees counts, as a command of the user's reads it: `name value` lines,
//! or Prometheus text.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use host::process::Group;
use tester::places::Told;

use super::external::Complain;

/// A command that takes longer is killed.
const LONGEST: Duration = Duration::from_secs(5);
/// Bytes of its output that are read.
const MOST: u64 = 1 << 20;
/// Numbers up to this are whole in a `f64`.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// Asks `command` for the counters. What is wrong with it is told once to `complain`, and ends
/// nothing.
pub(super) fn told(command: String, complain: Complain) -> Told {
    let said = RefCell::new(BTreeSet::new());
    Box::new(move || match ask(&command, LONGEST) {
        Ok(counters) => Some(counters),
        Err(why) => {
            if said.borrow_mut().insert(why.clone()) {
                complain(&why);
            }
            None
        }
    })
}

/// Runs the command, in a process group of its own, for at most `limit`.
fn ask(command: &str, limit: Duration) -> Result<Vec<(String, u64)>, String> {
    let wrong = |why: &str, remedy: &str| {
        Err(format!(
            "--device-counters \"{command}\" {why}; {remedy}. Where the device lost frames of \
             this trial is not known"
        ))
    };
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null());
    let started = Group::start(shell.stdout(Stdio::piped()));
    let mut group = match started {
        Ok(group) => group,
        Err(error) => return wrong(&format!("cannot be started: {error}"), "look for sh"),
    };
    let output = group.leader.stdout.take();
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        let read = output.map(|output| output.take(MOST).read_to_end(&mut text));
        read.and_then(Result::ok).map(|_| text)
    });
    let ended = group.wait(limit);
    // Whoever still holds its output is killed too.
    drop(group);
    let text = reader.join().ok().flatten().unwrap_or_default();
    match ended {
        None => {
            let why = format!("took longer than {} s", limit.as_secs_f64());
            wrong(&why, "give one that only reads counters")
        }
        Some(status) if !status.success() => wrong(
            &format!("ended with {status}"),
            "run it by itself and mend it",
        ),
        Some(_) => {
            let counters = read(&String::from_utf8_lossy(&text));
            if counters.is_empty() {
                return wrong(
                    "printed no counter",
                    "print a line \"name value\" for each counter of lost frames",
                );
            }
            Ok(counters)
        }
    }
}

/// Lines of a name and a whole number, `name: 5` and `name{label="x"} 5.0` among them; others are
/// no counters.
fn read(text: &str) -> Vec<(String, u64)> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.filter_map(counter).collect()
}

fn counter(line: &str) -> Option<(String, u64)> {
    let end = match line.rfind('}') {
        Some(brace) => brace + 1,
        None => line.find(char::is_whitespace)?,
    };
    let (name, rest) = line.split_at(end);
    let value = rest.split_whitespace().next()?;
    let whole = |value: &f64| (0.0..=WHOLE).contains(value);
    let value = value.parse().ok().or_else(|| {
        let value = value.parse::<f64>().ok().filter(whole)?;
        Some(value as u64)
    });
    Some((name.trim_end_matches(':').to_owned(), value?))
}

#[cfg(test)]
#[path = "../../tests/unit/counters.rs"]
mod tests;
