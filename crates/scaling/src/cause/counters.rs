//! The dearer user work divided by hardware counters, where a machine has them.
//!
//! `W(1) / W(N) = (instr(1) / instr(N)) * (IPC(N) / IPC(1)) * (f(N) / f(1))`, exactly: more
//! instructions (spinning), fewer instructions a cycle (stalls, shared units), fewer cycles a
//! second (clock).

use serde::{Deserialize, Serialize};

/// Counters of one setting over its process tree, with the CPU time they were counted in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// Instructions retired, for one unit of work.
    pub instructions: f64,
    /// Cycles not halted, for one unit of work.
    pub cycles: f64,
    /// CPU seconds for one unit of work.
    pub cpu: f64,
}

/// The logarithms whose sum is `ln(W(1) / W(N))`. Negative is loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inflation {
    /// More instructions for the same work.
    pub instructions: f64,
    /// Fewer instructions a cycle.
    pub stalls: f64,
    /// Fewer cycles a second.
    pub clock: f64,
}

/// Divides the inflation of `many` against `one`. `None` when a counter is not above 0.
pub fn inflation(one: &Counters, many: &Counters) -> Option<Inflation> {
    let sound = |c: &Counters| c.instructions > 0.0 && c.cycles > 0.0 && c.cpu > 0.0;
    (sound(one) && sound(many)).then(|| {
        let ipc = |c: &Counters| c.instructions / c.cycles;
        let clock = |c: &Counters| c.cycles / c.cpu;
        Inflation {
            instructions: (one.instructions / many.instructions).ln(),
            stalls: (ipc(many) / ipc(one)).ln(),
            clock: (clock(many) / clock(one)).ln(),
        }
    })
}

#[cfg(test)]
#[path = "../../tests/unit/counters.rs"]
mod tests;
