//! Runs a plan: opens the engines, measures in interleaved rounds, and puts the rows together.

use std::time::Duration;

use host::noise::Reading;
use host::{CoreId, Environment};
use report::Progress;

use super::Error;
use super::case::{Row, Sample};
use super::engine::{Abilities, Engine, Setting};
use super::options::Choice;
use super::plan::Plan;
use super::result::{ChangesMade, Method, SCHEMA, Study};
use super::routes::{self, Routes};

/// Below this share of the route changes asked for, the report says how many were made.
const CHANGES_KEPT: f64 = 0.95;

/// Runs the whole study.
///
/// # Errors
/// When routes cannot be read, an engine cannot be opened or measured, or the user interrupts.
pub(crate) fn study(
    choice: &Choice,
    rounds: usize,
    time: Duration,
    seed: u64,
) -> Result<Study, Error> {
    let mut progress = Progress::new(0);
    progress.step("routing table");
    let routes = routes::load(choice.routes.as_deref(), seed)?;
    let setting = Setting {
        cores: &choice.cores,
        routes: &routes,
        seed,
    };
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    for kind in &choice.engines {
        host::cleanup::check()?;
        progress.step(&format!("preparing engine {}", kind.name));
        engines.push((kind.open)(&setting)?);
    }
    drop(progress);
    let mut study = run(&mut engines, &choice.cores, &routes, rounds, time, seed)?;
    study.left_out.clone_from(&choice.left_out);
    Ok(study)
}

/// Measures opened engines.
fn run(
    engines: &mut [Box<dyn Engine>],
    cores: &[CoreId],
    routes: &Routes,
    rounds: usize,
    time: Duration,
    seed: u64,
) -> Result<Study, Error> {
    let abilities: Vec<Abilities> = engines.iter().map(|engine| engine.abilities()).collect();
    let plan = Plan::new(&abilities, cores.len(), rounds, time, seed);
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); plan.cases.len()];
    let mut progress = Progress::new(plan.measurements());
    let before = Reading::now(cores);
    for round in 0..plan.rounds {
        for index in plan.order(round) {
            host::cleanup::check()?;
            let case = &plan.cases[index];
            progress.step(&format!("round {} of {}: {case}", round + 1, plan.rounds));
            let engine = engines
                .iter_mut()
                .find(|engine| engine.abilities().name == case.engine)
                .ok_or("a case without an engine")?;
            let sample = engine.measure(case, plan.trial);
            // After Ctrl-C an engine may fail in any way; the reason to name is the interrupt.
            host::cleanup::check()?;
            samples[index].push(sample.map_err(|error| format!("{case}: {error}"))?);
        }
    }
    drop(progress);
    let noise = before.until(&Reading::now(cores));

    let row = |(case, samples)| {
        Row::new(
            case,
            samples,
            routes.prefixes.v4.len(),
            routes.destinations.len(),
        )
    };
    Ok(Study {
        schema: SCHEMA.to_owned(),
        environment: Environment::read(env!("CARGO_PKG_VERSION"), seed),
        forwarding: plan
            .cases
            .iter()
            .zip(samples.iter().map(Vec::as_slice))
            .map(row)
            .collect(),
        cores: plan
            .cases
            .iter()
            .map(|case| case.workers)
            .max()
            .unwrap_or(1),
        rounds: plan.rounds,
        trial_milliseconds: plan.trial.as_secs_f64() * 1e3,
        routes_from: routes.from.clone(),
        methods: engines
            .iter()
            .map(|engine| Method {
                engine: engine.abilities().name.to_owned(),
                text: engine.method(),
            })
            .collect(),
        changes_made: changes_made(&plan, &samples),
        noise,
        traces: Vec::new(),
        left_out: Vec::new(),
    })
}

/// Cases whose route changes fell behind what was asked for.
fn changes_made(plan: &Plan, samples: &[Vec<Sample>]) -> Vec<ChangesMade> {
    let cases = plan
        .cases
        .iter()
        .zip(samples)
        .filter(|(case, _)| case.changes > 0);
    cases
        .filter_map(|(case, samples)| {
            let rates: Vec<f64> = samples
                .iter()
                .map(|sample| sample.changes_per_second)
                .collect();
            let made = scaling::statistics::median(&rates);
            (made < CHANGES_KEPT * case.changes as f64).then(|| ChangesMade {
                engine: case.engine.to_owned(),
                table: case.table,
                asked: case.changes,
                made,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::case::{Case, FRAME_SIZES, Table};
    use super::*;

    /// Forwards a fixed rate per worker; makes half of the route changes; fails when told to.
    struct Double {
        measured: usize,
        fail_at: usize,
    }

    impl Engine for Double {
        fn abilities(&self) -> Abilities {
            Abilities {
                name: "double",
                tables: &[Table::PerCore],
                sizes: &FRAME_SIZES,
                most_workers: 8,
                takes_changes: true,
                trials: 1,
                overhead: Duration::ZERO,
                every: 1,
            }
        }

        fn method(&self) -> String {
            "It multiplies.".to_owned()
        }

        fn measure(&mut self, case: &Case, _: Duration) -> Result<Sample, Error> {
            self.measured += 1;
            if self.measured == self.fail_at {
                return Err("the interface has vanished".into());
            }
            Ok(Sample {
                frames_per_second: 1e6 * case.workers as f64,
                changes_per_second: case.changes as f64 / 2.0,
            })
        }
    }

    fn run_double(fail_at: usize) -> Result<Study, Error> {
        let routes = Routes {
            prefixes: fib::prefix_file::Prefixes::default(),
            destinations: vec![1, 2, 3],
            from: "nowhere".to_owned(),
        };
        let cores = [CoreId(0), CoreId(1)];
        let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(Double {
            measured: 0,
            fail_at,
        })];
        run(&mut engines, &cores, &routes, 3, Duration::from_secs(1), 1)
    }

    #[test]
    fn every_case_becomes_a_row() {
        let study = run_double(0).unwrap();
        assert_eq!(study.forwarding.len(), 2 * 8 + 3);
        let row = study.smallest("double", Table::PerCore, 2).unwrap();
        assert_eq!((row.frames_per_second.0, row.destinations), (2e6, 3));
        assert_eq!(
            study.changes_made.len(),
            3,
            "half the changes is too few to keep quiet about"
        );
        assert_eq!(study.methods[0].text, "It multiplies.");
    }

    #[test]
    fn a_failure_names_the_case() {
        let error = run_double(7).err().unwrap().to_string();
        assert!(
            error.contains("double, per-core table") && error.contains("vanished"),
            "{error}"
        );
    }
}
