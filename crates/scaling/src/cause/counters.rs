//! The dearer user work divided by hardware counters, where a machine has them.
//!
//! `W(1) / W(N) = (instr(1) / instr(N)) * (IPC(N) / IPC(1)) * (f(N) / f(1))`, exactly: more
//! instructions (spinning), fewer instructions a cycle (stalls, shared units), fewer cycles a
//! second (clock).

use serde::{Deserialize, Serialize};

/// Counters of one setting over its process tree, with the CPU time they were counted in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
mod tests {
    use super::*;

    #[test]
    fn the_three_parts_are_exactly_the_growth_of_cpu_time() {
        let one = Counters {
            instructions: 1e9,
            cycles: 8e8,
            cpu: 0.25,
        };
        let many = Counters {
            instructions: 1.2e9,
            cycles: 1.5e9,
            cpu: 0.6,
        };
        let parts = inflation(&one, &many).unwrap();
        let sum = parts.instructions + parts.stalls + parts.clock;
        assert!((sum - (one.cpu / many.cpu).ln()).abs() < 1e-12);
        assert!(parts.instructions < 0.0 && parts.stalls < 0.0 && parts.clock < 0.0);
    }

    #[test]
    fn a_counter_that_did_not_count_gives_nothing() {
        let one = Counters {
            instructions: 1e9,
            cycles: 8e8,
            cpu: 0.25,
        };
        assert_eq!(inflation(&one, &Counters { cycles: 0.0, ..one }), None);
    }
}
