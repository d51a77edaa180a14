//! What messages between the planes cost the user plane.

use figures::median;

use super::bench::Bench;
use super::stage::Stage;
use crate::deployment::Deployment;
use crate::error::Error;
use crate::load::Observed;
use crate::result::Cost;
use crate::routes::Changes;
use crate::watch::watched;

/// Messages a second of which the cost is measured: a hundred times what route changes make.
const MESSAGES_PER_SECOND: u32 = 50_000;

/// Figures of equal trials.
#[derive(Default)]
struct Trials {
    busy: Vec<f64>,
    delay: Vec<f64>,
    loss: Vec<f64>,
}

impl Trials {
    fn add(&mut self, (seen, busy): (Observed, f64)) {
        self.busy.push(busy);
        self.loss.push(seen.loss());
        self.delay.extend(seen.delay_p99_ns.map(|ns| ns as f64));
    }

    fn delay(&self) -> Option<f64> {
        (!self.delay.is_empty()).then(|| median(&self.delay))
    }
}

impl Stage<'_> {
    /// What messages cost the user plane that carries packets at `rate`: trials with them and
    /// without, by turns.
    pub(super) fn cost(&self, bench: &mut Bench<'_>, rate: f64) -> Result<Cost, Error> {
        let schedule = self.plan.schedule();
        let mut empty = Changes::empty(&self.site.pairs);
        let mut trial = |messages| {
            let (seen, uses) = watched(std::slice::from_ref(&self.cores.user), || {
                let Bench { load, running, .. } = &mut *bench;
                load.trial(running, &mut empty, messages, rate, schedule.delay_trial)
            })?;
            let busy = uses.first().map_or(0.0, |of| of.busy);
            Ok::<_, Error>((seen, busy))
        };
        let (mut rest, mut talking) = (Trials::default(), Trials::default());
        for _ in 0..schedule.cost_rounds {
            rest.add(trial(0)?);
            talking.add(trial(MESSAGES_PER_SECOND)?);
        }
        // A user plane that floats has no core whose work would be its.
        let bound = self.variant.deployment != Deployment::SmpFree;
        Ok(Cost {
            messages_per_second: MESSAGES_PER_SECOND,
            core_ns_per_message: bound.then(|| {
                (median(&talking.busy) - median(&rest.busy)) * 1e9 / f64::from(MESSAGES_PER_SECOND)
            }),
            delay_p99_rest_ns: rest.delay(),
            delay_p99_ns: talking.delay(),
            loss_rest: median(&rest.loss),
            loss: median(&talking.loss),
        })
    }
}
