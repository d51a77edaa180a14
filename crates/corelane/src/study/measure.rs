//! Runs a plan: opens the engines, measures in interleaved rounds, and puts the rows together.

use std::time::Duration;

use host::noise::Reading;
use host::{CoreId, Environment};
use report::Progress;

use super::Error;
use super::case::{Case, Row, Sample};
use super::engine::{Abilities, Engine, Setting};
use super::options::Choice;
use super::plan::Plan;
use super::result::{Method, SCHEMA, Study};
use super::route_changes::RouteChanges;
use super::routes::{self, Routes};

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
    study.left_out.splice(0..0, choice.left_out.iter().cloned());
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
        route_changes: RouteChanges::all(&plan.cases, &samples),
        noise,
        traces: Vec::new(),
        left_out: nothing_came(&plan.cases, &samples),
    })
}

/// A sentence for each case in which nothing came through, in some rounds or in all.
fn nothing_came(cases: &[Case], samples: &[Vec<Sample>]) -> Vec<String> {
    let silent = |samples: &[Sample]| {
        let none = |sample: &&Sample| sample.frames_per_second <= 0.0;
        samples.iter().filter(none).count()
    };
    cases
        .iter()
        .zip(samples)
        .map(|(case, samples)| (case, silent(samples), samples.len()))
        .filter(|&(_, silent, _)| silent > 0)
        .map(|(case, silent, rounds)| {
            format!(
                "{case}: in {silent} of {rounds} rounds none of the frames sent came through, so there is no rate."
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::case::{FRAME_SIZES, Table};
    use super::*;

    /// Forwards a fixed rate per worker; makes half of the route changes; fails, or forwards nothing of a size, when told to.
    #[derive(Default)]
    struct Double {
        measured: usize,
        fail_at: usize,
        deaf_to: u32,
    }

    impl Engine for Double {
        fn abilities(&self) -> Abilities {
            Abilities {
                name: "double",
                tables: &[Table::PerCore],
                sizes: &FRAME_SIZES,
                most_workers: 8,
                takes_changes: true,
                overhead: Duration::ZERO,
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
            let deaf = case.frame_bytes == self.deaf_to;
            Ok(Sample {
                frames_per_second: if deaf { 0.0 } else { 1e6 * case.workers as f64 },
                changes_per_second: case.changes as f64 / 2.0,
            })
        }
    }

    fn run_double(double: Double) -> Result<Study, Error> {
        let routes = Routes {
            prefixes: fib::prefix_file::Prefixes::default(),
            destinations: vec![1, 2, 3],
            from: "nowhere".to_owned(),
        };
        let cores = [CoreId(0), CoreId(1)];
        let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(double)];
        run(&mut engines, &cores, &routes, 3, Duration::from_secs(1), 1)
    }

    #[test]
    fn every_case_becomes_a_row() {
        let study = run_double(Double::default()).unwrap();
        assert_eq!(study.forwarding.len(), 2 * 8 + 3);
        let row = study.smallest("double", Table::PerCore, 2).unwrap();
        assert_eq!((row.frames_per_second.0, row.destinations), (2e6, 3));
        assert_eq!(study.route_changes.len(), 3);
        for changes in &study.route_changes {
            assert!((changes.kept - 1.0).abs() < 1e-12);
            assert!(
                changes.fell_behind(),
                "half the changes is too few to keep quiet about"
            );
        }
        assert!(study.left_out.is_empty());
        assert_eq!(study.methods[0].text, "It multiplies.");
    }

    #[test]
    fn a_failure_names_the_case() {
        let double = Double {
            fail_at: 7,
            ..Double::default()
        };
        let error = run_double(double).err().unwrap().to_string();
        assert!(
            error.contains("double, per-core table") && error.contains("vanished"),
            "{error}"
        );
    }

    #[test]
    fn a_case_without_a_frame_is_a_row_with_a_reason() {
        let double = Double {
            deaf_to: 512,
            ..Double::default()
        };
        let study = run_double(double).unwrap();
        let row = study.row("double", Table::PerCore, 2, 512, 0).unwrap();
        assert!(row.frames_per_second.0.abs() < f64::EPSILON);
        assert_eq!(study.left_out.len(), 2, "one worker and two");
        assert!(study.left_out[0].contains("1 worker, 512 bytes: in 3 of 3 rounds none"));
        // All that is shown can be made of it.
        report::html::render(&super::super::page::page(&study));
        report::terminal::render(&super::super::page::summary(&study));
    }
}
