//! `corelane planes`: user and management plane on one kernel and on several, who disturbs whom.

use std::path::PathBuf;

use agent::protocol::UserPlaneMode;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use host::Environment;
use planes::advise::{self, Advice, Requirements, advise};
use planes::compare::compare;
use planes::deployment::Deployment;
use planes::plan::{LARGEST, Plan};
use planes::result::{Comparison, SCHEMA};
use planes::routes::Origin;
use planes::{guest, page};
use report::Progress;

use crate::common::{Outcome, ResultOptions, Stored, Written, answer, print};
use crate::values::{bits_per_second, nanoseconds};

/// Compare SMP (free, divided, bound, partitioned) and AMP: same planes, same load, one table
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Compare only these deployments
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    deployments: Vec<Deployment>,
    /// Move packets only so
    #[arg(long, value_name = "MODE", value_parser = mode())]
    mode: Option<UserPlaneMode>,
    /// UDP payloads in bytes, 18 to 3358
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "BYTES",
        value_parser = clap::value_parser!(u32).range(18..=3358)
    )]
    payloads: Vec<u32>,
    /// What guests' kernels run in [default: KVM where a guest boots on it, else User Mode Linux]
    #[arg(long, value_enum, value_name = "KIND")]
    guests: Option<guest::Kind>,
    /// Where the control plane's route changes come from
    #[arg(long, value_enum, value_name = "SOURCE", default_value = "generated")]
    routes_from: Origin,
    #[command(flatten)]
    results: ResultOptions,
}

const EXAMPLES: &str = "Examples:
  corelane planes --quick --html planes.html
  corelane planes --deployments smp-bound,amp --mode kernel --payloads 64,1464
  corelane planes --json planes.json
  corelane planes advise --from planes.json --user-plane-rate 200M --worst-jitter 50us \
                        --management-response 30ms
  corelane planes report planes.json --markdown";

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say which deployment meets these requirements, with the figures behind it
    Advise(Advise),
    /// Show a run made earlier, or an advice, again
    Report(Report),
}

/// Say which deployment meets these requirements while both planes work
#[derive(Debug, clap::Args)]
struct Advise {
    /// Take the figures of this run (`corelane planes --json FILE`) instead of measuring with
    /// --quick now
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Least rate of the user plane, payload bits a second: 200M, 1.5G
    #[arg(long, value_name = "RATE", value_parser = bits_per_second)]
    user_plane_rate: Option<f64>,
    /// Largest jitter of the user plane: 50us, 1ms
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    worst_jitter: Option<f64>,
    /// Largest response time of the management plane, for 99 of 100 requests: 30ms, 1s
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    management_response: Option<f64>,
    /// Consider only packets moved so
    #[arg(long, value_name = "MODE", value_parser = mode())]
    mode: Option<UserPlaneMode>,
    /// Judge at this UDP payload; otherwise at the largest that fits a standard frame
    #[arg(long, value_name = "BYTES")]
    payload: Option<u32>,
    /// Seed of everything random in a measurement of now
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    written: Written,
}

#[derive(Debug, clap::Args)]
struct Report {
    #[command(flatten)]
    of: Stored,
    /// Print the tables of a run as Markdown
    #[arg(long)]
    markdown: bool,
}

/// [`UserPlaneMode`] for options: the guests' program, whose it is, reads none.
fn mode() -> impl TypedValueParser<Value = UserPlaneMode> {
    let kernel = PossibleValue::new("kernel").help("The kernel forwards");
    let user_space = PossibleValue::new("user-space").help("Our worker forwards, in user space");
    PossibleValuesParser::new([kernel, user_space]).map(|name| match name.as_str() {
        "kernel" => UserPlaneMode::Kernel,
        _ => UserPlaneMode::UserSpace,
    })
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Some(Command::Advise(wanted)) => give_advice(wanted),
        Some(Command::Report(of)) => show(of),
        None => {
            let comparison = measure(&plan(arguments))?;
            let (results, summary) = (&arguments.results, page::summary(&comparison));
            if !results.written.json.is_alone() {
                print(&report::terminal::render(&summary))?;
            }
            results
                .written
                .write(&page::page(&comparison), &comparison)?;
            Ok(answer(true))
        }
    }
}

fn measure(plan: &Plan) -> Result<Comparison, Box<dyn std::error::Error + Send + Sync>> {
    host::cleanup::on_signal()?;
    let program = guest::program().ok_or(
        "no static program for the planes: build it with \"make guest\", or name it in \
         CORELANE_GUEST",
    )?;
    let progress = Progress::new(0);
    let minutes = plan.longest().as_secs_f64() / 60.0;
    progress.note(&format!("this takes at most {minutes:.1} minutes"));
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), plan.seed);
    Ok(compare(plan, &program, environment, |what| {
        progress.note(what);
    })?)
}

fn give_advice(wanted: &Advise) -> Outcome {
    let requirements = Requirements {
        user_plane_bps: wanted.user_plane_rate,
        jitter_ns: wanted.worst_jitter,
        response_ms: wanted.management_response.map(|ns| ns / 1e6),
        mode: wanted.mode,
        payload_bytes: wanted.payload,
    };
    requirements.check()?;
    let comparison = if let Some(file) = &wanted.from {
        report::json::read(file, SCHEMA)?
    } else {
        let mut plan = Plan::whole(true, wanted.seed);
        if let Some(mode) = requirements.mode {
            plan.modes = vec![mode];
        }
        plan.payloads = vec![requirements.payload_bytes.unwrap_or(LARGEST)];
        measure(&plan)?
    };
    let advice = advise(&comparison, &requirements)?;
    wanted.written.deliver(&advice.document(), &advice)?;
    Ok(answer(advice.is_met()))
}

fn show(of: &Report) -> Outcome {
    let Stored { stored, written } = &of.of;
    if report::json::form(stored)? == advise::SCHEMA {
        let advice: Advice = report::json::read(stored, advise::SCHEMA)?;
        return written.deliver(&advice.document(), &advice);
    }
    let comparison: Comparison = report::json::read(stored, SCHEMA)?;
    let text = if of.markdown {
        page::markdown(&comparison)
    } else {
        report::terminal::render(&page::summary(&comparison))
    };
    if !written.json.is_alone() {
        print(&text)?;
    }
    written.write(&page::page(&comparison), &comparison)?;
    Ok(answer(true))
}

fn plan(arguments: &Arguments) -> Plan {
    let mut plan = Plan::whole(arguments.results.quick, arguments.results.seed);
    if !arguments.deployments.is_empty() {
        plan.deployments.clone_from(&arguments.deployments);
    }
    if let Some(mode) = arguments.mode {
        plan.modes = vec![mode];
    }
    if !arguments.payloads.is_empty() {
        plan.payloads.clone_from(&arguments.payloads);
    }
    plan.guests = arguments.guests;
    plan.routes = arguments.routes_from;
    plan
}
