//! What messages between the planes cost the user plane.

use figures::{Rounds, median};

use super::stage::Stage;
use super::under_load::UnderLoad;
use crate::error::Error;
use crate::load::Observed;
use crate::result::{CoreUse, Cost};
use crate::routes::Changes;
use crate::watch::watched;

/// Messages a second of which the cost is measured: a hundred times what route changes make.
const MESSAGES_PER_SECOND: u32 = 50_000;

/// What was seen of the packets, and of the user plane's core.
type Trial = (Observed, Vec<CoreUse>);

impl Stage<'_> {
    /// What messages cost the user plane that carries packets at `rate`: rounds of trials with
    /// them and without.
    pub(super) fn cost(&self, under_load: &mut UnderLoad<'_>, rate: f64) -> Result<Cost, Error> {
        let schedule = self.plan.schedule();
        let mut empty = Changes::empty(&self.site.pairs);
        let mut trials = Rounds::new(2, self.plan.seed);
        trials.run(schedule.cost_rounds, |setting| {
            watched(std::slice::from_ref(&self.cores.user), || {
                let UnderLoad { load, running, .. } = &mut *under_load;
                let messages = [0, MESSAGES_PER_SECOND][setting];
                load.trial(running, &mut empty, messages, rate, schedule.delay_trial)
            })
        })?;
        let busy = |setting| {
            let of = |(_, uses): &Trial| uses.first().map_or(0.0, |of| of.busy);
            median(trials.values(setting, of))
        };
        let loss = |setting| median(trials.values(setting, |(seen, _)| seen.loss()));
        let delay = |setting| {
            let delays: Vec<f64> = trials
                .of(setting)
                .filter_map(|(seen, _)| Some(seen.delay_p99_ns? as f64))
                .collect();
            (!delays.is_empty()).then(|| median(delays))
        };
        // A user plane that floats has no core whose work would be its.
        let bound = !self.variant.deployment.floats();
        Ok(Cost {
            messages_per_second: MESSAGES_PER_SECOND,
            core_ns_per_message: bound
                .then(|| (busy(1) - busy(0)) * 1e9 / f64::from(MESSAGES_PER_SECOND)),
            delay_p99_rest_ns: delay(0),
            delay_p99_ns: delay(1),
            loss_rest: loss(0),
            loss: loss(1),
        })
    }
}
