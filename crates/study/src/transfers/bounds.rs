//! What transfers must hold: through the router no traffic is slower than without it.

use figures::Estimate;
use router::engine::EngineKind;

use super::{Load, Transfers};
use crate::claims::{Limit, Target};

/// Times Linux alone that TCP should reach where the hosts leave segments and checksums to their
/// interfaces.
const TCP_GOAL: f64 = 1.3;

impl Transfers {
    /// Each ratio to Linux alone with what it must be. Only the engine that `corelane run` chooses
    /// by itself has to hold anything: who names another may want something else of it.
    pub(crate) fn targets(&self) -> Vec<(Target, Estimate)> {
        let rows = self.rows.iter();
        let target = rows.map(|row| {
            let chosen = row.engine == EngineKind::default().name();
            let goal = row.key.load == Load::Tcp && row.key.ground.offloads;
            let target = Target {
                what: format!("{} against Linux alone: {}", row.engine, row.key.in_words()),
                must: chosen.then_some(Limit::NotBelow(1.0)),
                goal: (chosen && goal).then_some(Limit::AtLeast(TCP_GOAL)),
            };
            Some((target, row.against_linux?))
        });
        target.flatten().collect()
    }
}
