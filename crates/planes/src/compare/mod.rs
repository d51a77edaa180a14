//! The comparison itself: every deployment, each plane alone and beside the other.

mod cost;
mod pairs;
mod stage;
mod under_load;

use std::path::Path;
use std::time::Instant;

use host::{Environment, settings};

use self::stage::Stage;
use crate::cause;
use crate::deployment::{Cores, Means};
use crate::error::Error;
use crate::guest::{self, Choice, Kind};
use crate::plan::{CHANGES_PER_SECOND, COMMON_RATE, Plan, REQUESTS_PER_SECOND};
use crate::result::{Comparison, SCHEMA};
use crate::routes::{self, Origin};
use crate::site::Site;
pub use under_load::LOSS;

/// Compares the deployments of `plan`; `say` hears what is being done. A deployment that this
/// machine cannot have is named in the result, and the others go on.
///
/// # Errors
/// [`Error`].
pub fn compare(
    plan: &Plan,
    program: &Path,
    environment: Environment,
    mut say: impl FnMut(&str),
) -> Result<Comparison, Error> {
    if !host::process::is_root() {
        return Err(Error::NotRoot);
    }
    let begin = Instant::now();
    let all = host::allowed_cores().unwrap_or_default();
    let count = all.len();
    let cores = Cores::divide(all).ok_or(Error::Cores(count))?;
    guest::sweep_leftovers();
    settings::sweep_leftovers();
    let mut comparison = Comparison {
        schema: SCHEMA.to_owned(),
        environment,
        cells: Vec::new(),
        channels: Vec::new(),
        causes: Vec::new(),
        not_measured: vec![
            "hardware counters and cache partitions, which would tell shared cache from memory \
             bandwidth"
                .to_owned(),
        ],
        user_core: cores.user.0,
        cores: cores.all.iter().map(|core| core.0).collect(),
        requests_per_second: REQUESTS_PER_SECOND,
        route_changes_per_second: CHANGES_PER_SECOND,
        delay_frames_per_second: COMMON_RATE,
        route_origin: plan.routes,
        routes: Vec::new(),
        guests: None,
        quick: plan.quick,
    };
    let mut plan = plan.clone();
    if let (Origin::Bird, Err(missing)) = (plan.routes, routes::installed()) {
        let missing = format!("route changes from BIRD: {missing}");
        say(&missing);
        comparison
            .not_measured
            .push(format!("{missing}; they are generated"));
        plan.routes = Origin::Generated;
        comparison.route_origin = Origin::Generated;
    }
    let plan = &plan;
    let guests = plan.deployments.iter().any(|of| of.own_kernel()).then(|| {
        plan.guests
            .map_or_else(|| Choice::make(cores.user, program), Choice::forced)
    });
    if let Some(choice) = &guests {
        say(&choice.sentence());
        if let Some(why) = &choice.no_kvm {
            comparison
                .not_measured
                .push(format!("several kernels on KVM: {why}"));
        }
        comparison.guests = Some(choice.sentence());
    }
    let means = Means {
        program,
        guests: guests.map_or(Kind::UserModeLinux, |choice| choice.kind),
    };
    for variant in plan.variants() {
        let site = Site::new(variant.deployment.user_planes())?;
        let stage = Stage {
            plan,
            variant,
            cores: &cores,
            site: &site,
        };
        say(&variant.to_string());
        let run = stage.run(means, &mut comparison, &mut say);
        if host::interrupted() {
            return Err(Error::Interrupted);
        }
        if let Err(error) = run {
            comparison.not_measured.push(format!("{variant}: {error}"));
        }
    }
    // What the searches did not need of their time is the causes'.
    let left = plan.longest().saturating_sub(begin.elapsed());
    let time = left.max(plan.schedule().causes);
    cause::investigate(plan, means, &cores, time, &mut comparison, say)?;
    Ok(comparison)
}
