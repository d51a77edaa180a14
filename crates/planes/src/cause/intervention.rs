//! What can be done about one shared thing at a time.

use agent::protocol::UserPlaneMode;
use host::pressure::Channel;

use crate::deployment::{Deployment, Variant};
use crate::result::{Method, Plane};

/// A shared thing that is taken away while both planes are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// The victim's tasks come before all normal ones on their core.
    Queue,
    /// Softirqs of the device's cables move: from the core where packets arrive to a thread on the
    /// user plane's core, or back.
    Softirqs,
    /// Interrupt lines of devices go to the other plane's cores.
    Interrupts,
    /// The kernel's unbound workers do.
    Workers,
    /// All other tasks of the host leave the user plane's core (a cpuset partition for the time of
    /// the trial).
    HostTasks,
    /// The control plane changes no routes.
    Routes,
    /// The handler computes as long, but in registers: it touches neither cache nor memory.
    HandlerMemory,
}

/// One kind of trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The victim's load only.
    Alone(Plane),
    /// Both loads.
    Both,
    /// Both loads once more.
    Again,
    /// Both loads without one shared thing; for this victim.
    Removed(Plane, Removal),
    /// The victim's load, and instead of the other plane something that presses on one shared
    /// thing.
    Pressed(Plane, Channel),
    /// Requests, and packets that end where the device begins: the tester without the user plane.
    TesterOnly,
}

const PRESSES: [Channel; 5] = [
    Channel::Clock,
    Channel::Cache,
    Channel::MemoryReads,
    Channel::MemoryWrites,
    Channel::Interrupts,
];

/// The trials of one round that tell what disturbs `victims`.
pub(super) fn turns(variant: Variant, victims: &[Plane]) -> Vec<Turn> {
    let mut turns = vec![Turn::Both, Turn::Again];
    for &victim in victims {
        turns.push(Turn::Alone(victim));
        let removals = removals(variant, victim);
        turns.extend(
            removals
                .into_iter()
                .map(|removal| Turn::Removed(victim, removal)),
        );
        if victim == Plane::Management {
            turns.push(Turn::TesterOnly);
        }
        turns.extend(PRESSES.map(|channel| Turn::Pressed(victim, channel)));
    }
    turns
}

fn removals(variant: Variant, victim: Plane) -> Vec<Removal> {
    use Removal::{HandlerMemory, HostTasks, Interrupts, Queue, Routes, Softirqs, Workers};
    if victim == Plane::Management {
        return vec![Queue, Softirqs, Interrupts, Workers, Routes];
    }
    let mut removals = vec![Softirqs, Interrupts, Workers, Routes, HandlerMemory];
    // Under one kernel that forwards, packets move in softirqs and NAPI threads, which come first
    // already.
    if variant.deployment.own_kernel() || variant.mode == UserPlaneMode::UserSpace {
        removals.push(Queue);
    }
    // Where the user plane floats there is no core to clear, and in a partition it is clear.
    if matches!(variant.deployment, Deployment::SmpBound | Deployment::Amp) {
        removals.push(HostTasks);
    }
    removals
}

impl Turn {
    /// The channel's name, what was done and whether its share adds to the others', for an
    /// intervention.
    pub(super) fn intervention(self) -> Option<(Plane, &'static str, Method, bool)> {
        Some(match self {
            Self::Alone(_) | Self::Both | Self::Again | Self::Pressed(_, Channel::Clock) => {
                return None;
            }
            Self::Removed(victim, removal) => (victim, removal.name(), Method::Removed, true),
            Self::TesterOnly => (
                Plane::Management,
                "the tester's own work on the shared core",
                Method::Pressed,
                false,
            ),
            // The cache and the memory that the handler uses were taken away as one; pressing tells
            // them apart.
            Self::Pressed(victim, channel) => (
                victim,
                pressed_name(channel),
                Method::Pressed,
                victim == Plane::Management || channel == Channel::Interrupts,
            ),
        })
    }

    /// Whose figures a trial of this kind has: user plane, management plane.
    pub(super) fn loads(self) -> (bool, bool) {
        match self {
            Self::Alone(Plane::User) | Self::Pressed(Plane::User, _) => (true, false),
            Self::Alone(Plane::Management) | Self::Pressed(Plane::Management, _) => (false, true),
            Self::Both | Self::Again | Self::Removed(..) | Self::TesterOnly => (true, true),
        }
    }
}

impl Removal {
    fn name(self) -> &'static str {
        match self {
            Self::Queue => "waiting for the core",
            Self::Softirqs => "placement of softirqs",
            Self::Interrupts => "interrupts of devices",
            Self::Workers => "kernel workers",
            Self::HostTasks => "other tasks of the host",
            Self::Routes => "route changes",
            Self::HandlerMemory => "the handler's cache and memory",
        }
    }
}

fn pressed_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Interrupts => "timers",
        other => other.name(),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/intervention.rs"]
mod tests;
