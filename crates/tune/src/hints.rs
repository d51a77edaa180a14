//! What only the machine's owner can change: the kernel's command line, other programs, where a
//! card is plugged in.

use host::CoreId;
use host::cores::write_list;

use crate::facts::{Machine, Port};

/// Something to do by hand.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hint {
    /// What to add or to do.
    pub what: String,
    /// Why: a sentence.
    pub why: &'static str,
}

/// Words of the command line that keep cores free, with what each does.
const KEEP_FREE: [(&str, &str); 3] = [
    (
        "isolcpus",
        "The scheduler then puts no other program on the forwarding cores.",
    ),
    (
        "nohz_full",
        "The clock then does not interrupt a core that runs one thread.",
    ),
    (
        "rcu_nocbs",
        "Other cores then do the kernel's putting away.",
    ),
];

/// What would help beside the settings of the ports.
pub fn hints(machine: &Machine, ports: &[Port]) -> Vec<Hint> {
    let mut hints = Vec::new();
    let mut add = |what, why| hints.push(Hint { what, why });
    let cores = write_list(&machine.cores);
    if machine
        .online
        .iter()
        .any(|core| !machine.cores.contains(core))
    {
        for (word, why) in KEEP_FREE {
            if value(&machine.command_line, word).is_none() {
                add(format!("kernel command line: {word}={cores}"), why);
            }
        }
    }
    if machine.mitigated && value(&machine.command_line, "mitigations") != Some("off") {
        let why = "Every indirect call is faster; only where all programs here are trusted.";
        add("kernel command line: mitigations=off".to_owned(), why);
    }
    if machine.balanced && ports.iter().any(|port| !port.interrupts.is_empty()) {
        let why = "It moves interrupts to other cores again.";
        add("stop irqbalance".to_owned(), why);
    }
    for port in ports {
        let Some(node) = port.node else { continue };
        let on_node = |wanted: &CoreId| {
            let found = machine.nodes.iter().find(|(core, _)| core == wanted);
            found.is_none_or(|(_, own)| *own == node)
        };
        if !machine.cores.iter().all(on_node) {
            let own: Vec<CoreId> = machine.online.iter().copied().filter(on_node).collect();
            let why = "Other cores reach the card's memory through another socket.";
            add(format!("{}: --cores {}", port.name, write_list(&own)), why);
        }
    }
    hints
}

/// The value of a word of the command line.
fn value<'a>(command_line: &'a str, word: &str) -> Option<&'a str> {
    let mut words = command_line.split_whitespace();
    words.find_map(|found| found.strip_prefix(word)?.strip_prefix('='))
}
