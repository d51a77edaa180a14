//! Runs a plan: the self-test and then the test, size by size. What is measured is kept, whatever happens next.

use host::Environment;
use report::Progress;
use tester::bench::{self, Subject};
use tester::result::{Entry, Report, SCHEMA, Test};
use tester::rig::Rig;
use tester::search::mlr::Goal;
use tester::session::Session;

use super::Options;
use super::device::{Device, shell};
use super::plan::{Item, Plan};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Runs the plan.
pub(super) fn run(plan: &Plan, options: &Options) -> Result<Report, Error> {
    let device = Device::new(options, plan.mtu)?;
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        environment: Environment::read(env!("CARGO_PKG_VERSION"), options.output.seed),
        setup: device.facts(),
        family: plan.family,
        direction: plan.direction,
        destinations: options.destinations,
        profile: plan.profile,
        deviations: plan.profile.deviations(),
        results: Vec::new(),
        stopped: None,
    };
    let mut progress = Progress::new(plan.items.len());
    // Cables and programs of the self-test are made once: its rig and the device's use the same cores, never at the same time.
    let mut wire = device.wire(options.output.seed)?;
    let mut rig = if plan.test == Test::Selftest {
        None
    } else {
        Some(device.rig(options)?)
    };
    let described: &dyn Rig = match &rig {
        Some(rig) => rig,
        None => &wire,
    };
    report
        .setup
        .insert(0, ("Rig".to_owned(), described.describe()));
    for item in &plan.items {
        progress.step(&format!("{} {}: self-test", plan.test.name(), item.label));
        let selftest = with_session(plan, options, item, &mut wire, &progress, |session| {
            bench::selftest::run(session, &item.label)
        });
        let subject = Subject {
            label: item.label.clone(),
            selftest: selftest.frames_per_second,
        };
        report.results.push(selftest);
        if let Some(rig) = rig.as_mut().filter(|_| !host::interrupted()) {
            if let Some(command) = &options.before {
                shell(command)?;
            }
            let entry = with_session(plan, options, item, rig, &progress, |session| {
                test(plan, options, item, &device, &subject, session)
            });
            report.results.push(entry);
            if let Some(command) = &options.after {
                shell(command)?;
            }
        }
        if host::interrupted() {
            report.stopped = Some("interrupted".to_owned());
            break;
        }
    }
    Ok(report)
}

/// Runs something in a session over one rig, with its progress on the terminal.
fn with_session(
    plan: &Plan,
    options: &Options,
    item: &Item,
    rig: &mut dyn Rig,
    progress: &Progress,
    work: impl FnOnce(Session<'_>) -> Entry,
) -> Entry {
    let mut say =
        |words: &str| progress.note(&format!("{} {}: {words}", plan.test.name(), item.label));
    work(Session::new(
        rig,
        plan.profile,
        plan.order(item, options.destinations),
        &mut say,
    ))
}

fn test(
    plan: &Plan,
    options: &Options,
    item: &Item,
    device: &Device,
    subject: &Subject,
    session: Session<'_>,
) -> Entry {
    match plan.test {
        Test::Throughput => {
            let goals: &[(&str, Goal)] = if options.loss_ratio {
                &[("NDR", Goal::NDR), ("PDR", Goal::PDR)]
            } else {
                &[]
            };
            bench::throughput::run(session, subject, goals)
        }
        Test::Latency => bench::latency::run(session, subject, options.rate),
        Test::Loss => bench::loss::run(session, subject),
        Test::BackToBack => bench::back_to_back::run(session, subject, options.rate),
        Test::Recovery => bench::recovery::run(session, subject, options.rate),
        Test::Reset => {
            let words = device.reset_words(options);
            bench::reset::run(session, subject, options.rate, &words, &|| {
                device.reset(options);
            })
        }
        Test::Sweep => bench::sweep::run(session, subject, item.payload.unwrap_or(0)),
        Test::Selftest => bench::selftest::run(session, &item.label),
    }
}
