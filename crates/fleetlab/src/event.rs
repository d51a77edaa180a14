//! The events: what happens to one node, from which state, and into which.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// `corelane drain`.
    Drain,
    /// `corelane undrain`.
    Undrain,
    /// `corelane run --take-over`.
    TakeOver,
    /// SIGKILL of Corelane; its kernel forwards.
    Kill,
    /// SIGSTOP of Corelane; its programs in the kernel go on.
    Hang,
    /// Corelane ends in order and starts again, without a take-over.
    Restart,
    /// SIGKILL of the daemon; Corelane forwards.
    DaemonKill,
    /// Corelane, the daemon and the kernel's forwarding stop without a word; the links stay up.
    Dead,
    /// The link to the spreader goes down.
    LinkDown,
    /// The daemon ends in order, then Corelane; nobody drained the node before.
    Remove,
    /// Corelane starts, then the daemon.
    Add,
    /// The daemon loses the route that it announces, and has it again, five times.
    Flap,
    /// Two thousand other routes come and go behind the node, three times.
    Churn,
    /// More frames than the nodes can take go through all of them, for as long as it is watched.
    Load,
}

/// Who forwards in the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Forwarder {
    /// Corelane, and the kernel what is left to it.
    Corelane,
    /// The kernel alone: Corelane does not run.
    Kernel,
}

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It forwards and announces.
    Whole,
    /// It forwards, and announces a graceful shutdown.
    Drained,
    /// Its kernel forwards, without Corelane.
    Killed,
    /// It forwards, and Corelane answers nobody.
    Hung,
    /// It forwards, and nobody announces it.
    Unannounced,
    /// It does nothing.
    Dead,
    /// Its link to the spreader is down.
    Cut,
    /// Neither Corelane nor the daemon runs.
    Removed,
}

/// Each event, and what a table calls it.
const ALL: [(Event, &str, &str); 14] = [
    (Event::Drain, "drain", "node drained"),
    (Event::Undrain, "undrain", "node undrained"),
    (Event::TakeOver, "take-over", "take-over"),
    (Event::Kill, "kill", "Corelane killed"),
    (Event::Hang, "hang", "Corelane hung"),
    (Event::Restart, "restart", "Corelane restarted"),
    (Event::DaemonKill, "daemon-kill", "daemon killed"),
    (Event::Dead, "dead", "node dead"),
    (Event::LinkDown, "link-down", "link down"),
    (Event::Remove, "remove", "node removed"),
    (Event::Add, "add", "node added"),
    (Event::Flap, "flap", "route flapping"),
    (Event::Churn, "churn", "churn of other routes"),
    (Event::Load, "load", "full load"),
];

impl Event {
    /// All that happen to one node, in the order in which they are done.
    pub fn of_a_node() -> impl Iterator<Item = Self> {
        let all = ALL.iter().map(|&(event, ..)| event);
        all.filter(|&event| event != Self::Load)
    }

    /// In words.
    pub fn words(self) -> &'static str {
        ALL.iter()
            .find(|&&(event, ..)| event == self)
            .map_or("", |&(.., words)| words)
    }

    /// The state of the node in which it begins.
    pub fn begins(self) -> State {
        match self {
            Self::Undrain => State::Drained,
            Self::Add => State::Removed,
            _ => State::Whole,
        }
    }

    /// Whether it happens to Corelane, and not to a node without it.
    pub fn is_of_corelane(self) -> bool {
        matches!(
            self,
            Self::TakeOver | Self::Kill | Self::Hang | Self::Restart
        )
    }

    /// Whether the spreader's route has other nodes afterwards.
    pub fn reroutes(self) -> bool {
        self.begins().carries() != self.ends().carries()
    }

    /// The state in which it leaves the node.
    pub fn ends(self) -> State {
        match self {
            Self::Drain => State::Drained,
            Self::Kill => State::Killed,
            Self::Hang => State::Hung,
            Self::DaemonKill => State::Unannounced,
            Self::Dead => State::Dead,
            Self::LinkDown => State::Cut,
            Self::Remove => State::Removed,
            Self::Undrain
            | Self::TakeOver
            | Self::Restart
            | Self::Add
            | Self::Flap
            | Self::Churn
            | Self::Load => State::Whole,
        }
    }
}

impl State {
    /// Whether flows go by a node in this state.
    pub fn carries(self) -> bool {
        matches!(self, Self::Whole | Self::Killed | Self::Hung)
    }
}

impl fmt::Display for Forwarder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Corelane => "Corelane",
            Self::Kernel => "kernel",
        })
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ALL.iter().find(|(event, ..)| event == self);
        f.pad(name.map_or("", |(_, name, _)| name))
    }
}

impl FromStr for Event {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ALL.iter().find(|(_, name, _)| *name == text);
        found.map(|(event, ..)| *event).ok_or_else(|| {
            let names: Vec<&str> = ALL.iter().map(|(_, name, _)| *name).collect();
            format!("the events are {}", names.join(", "))
        })
    }
}
