//! Runs a plan: the self-test and then the test, size by size. What is measured is kept, whatever
//! happens next.

use dut::stand::Stand;
use host::Environment;
use report::Progress;
use tester::bench::{self, Subject};
use tester::result::{Entry, Report, SCHEMA, Test};
use tester::rig::Rig;
use tester::search::mlr::Goal;
use tester::session::Session;
use tester::trial::Order;

use super::hooks::shell;
use super::items::Item;
use super::options::Options;
use super::plan::Plan;
use super::{device, traffic};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What a run leaves, whatever became of it.
pub(super) struct Measured {
    /// Everything that was measured.
    pub(super) report: Report,
    /// Why the run ended early, when not by a signal.
    pub(super) failure: Option<Error>,
}

/// Runs the plan.
///
/// # Errors
/// Nothing could be set up. What fails later is in what is returned, beside all that was measured
/// before.
pub(super) fn run(plan: &Plan, options: &Options) -> Result<Measured, Error> {
    let stand = device::open(plan, options)?;
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        environment: Environment::read(env!("CARGO_PKG_VERSION"), options.output.seed),
        setup: stand.facts(),
        family: plan.family,
        direction: plan.direction,
        destinations: options.destinations,
        profile: plan.profile,
        deviations: tester::deviations::of(&plan.profile, &plan.traffic),
        results: Vec::new(),
        stopped: None,
    };
    // Cables and programs of the self-test are made once: its rig and the device's use the same
    // cores, never at the same time.
    let mut wire = stand.wire()?;
    let mut rig = match plan.test {
        Test::Selftest => None,
        _ => Some(stand.rig()?),
    };
    let described = rig.as_ref().unwrap_or(&wire).describe();
    report.setup.insert(0, ("Rig".to_owned(), described));
    report.setup.extend(traffic::facts(&plan.traffic));
    let failure = items(plan, options, &*stand, wire.as_mut(), &mut rig, &mut report).err();
    if host::interrupted() {
        report.stopped = Some("interrupted".to_owned());
    } else if let Some(error) = &failure {
        report.stopped = Some(error.to_string());
    }
    Ok(Measured { report, failure })
}

/// Runs the plan's items; what each yields is in the report before the next begins.
fn items(
    plan: &Plan,
    options: &Options,
    stand: &dyn Stand,
    wire: &mut dyn Rig,
    rig: &mut Option<Box<dyn Rig>>,
    report: &mut Report,
) -> Result<(), Error> {
    let mut progress = Progress::new(plan.items.len());
    for item in &plan.items {
        progress.step(&format!("{} {}: self-test", plan.test.name(), item.label));
        let order = plan.selftest_order(item, options.destinations);
        let selftest = with_session(plan, item, order, wire, &progress, |session| {
            bench::selftest::run(session, &item.label, plan.stated)
        });
        let subject = Subject {
            label: item.label.clone(),
            selftest: selftest.frames_per_second,
        };
        keep(report, selftest)?;
        if let Some(rig) = rig.as_mut().filter(|_| !host::interrupted()) {
            if let Some(command) = &options.before {
                shell(command)?;
            }
            let order = plan.order(item, options.destinations);
            let entry = with_session(plan, item, order, rig.as_mut(), &progress, |session| {
                test(plan, options, item, stand, &subject, session)
            });
            keep(report, entry)?;
            if let Some(command) = &options.after {
                shell(command)?;
            }
        }
        if host::interrupted() {
            break;
        }
    }
    Ok(())
}

/// Keeps a result.
///
/// # Errors
/// Its test was stopped by something that would stop the next as well. A signal is no error: it is
/// what the user wanted.
fn keep(report: &mut Report, entry: Entry) -> Result<(), Error> {
    let stopped = entry.stopped.clone().filter(|_| !host::interrupted());
    report.results.push(entry);
    stopped.map_or(Ok(()), |reason| Err(reason.into()))
}

/// Runs something in a session over one rig, with its progress on the terminal.
fn with_session(
    plan: &Plan,
    item: &Item,
    order: Order,
    rig: &mut dyn Rig,
    progress: &Progress,
    work: impl FnOnce(Session<'_>) -> Entry,
) -> Entry {
    let mut say =
        |words: &str| progress.note(&format!("{} {}: {words}", plan.test.name(), item.label));
    work(Session::new(rig, plan.profile, order, &mut say))
}

fn test(
    plan: &Plan,
    options: &Options,
    item: &Item,
    stand: &dyn Stand,
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
        Test::Loss => bench::loss::run(session, subject, options.rate),
        Test::BackToBack => bench::back_to_back::run(session, subject, options.rate),
        Test::Recovery => {
            let hook = options.overload.as_ref().map(|command| {
                move || {
                    if let Err(error) = shell(command) {
                        eprintln!("corelane: overload: {error}");
                    }
                }
            });
            let overloaded = hook.as_ref().map(|hook| hook as &(dyn Fn() + Sync));
            bench::recovery::run(session, subject, options.rate, overloaded)
        }
        Test::Reset => {
            let command = options.reset.as_deref();
            let words = command.unwrap_or(stand.reset_words());
            bench::reset::run(session, subject, options.rate, words, &|| {
                // A device that does not come back shows in the result.
                if let Err(error) = command.map_or_else(|| stand.reset(), shell) {
                    eprintln!("corelane: reset: {error}");
                }
            })
        }
        Test::Bursts => bench::bursts::run(session, subject),
        Test::Sweep => bench::sweep::run(session, subject, item.payload.unwrap_or(0)),
        Test::Selftest => bench::selftest::run(session, &item.label, None),
    }
}
