//! `corelane tune`: what would make ports forward faster; does it, and takes it back.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use ::tune::facts::forwarding_cores;
use ::tune::hints::{Hint, hints};
use ::tune::{
    Change, Entry, Made, Outcome as Fate, Port, Records, System, TuneError, apply_all, rules, undo,
};
use fastpath::forward::{Place, Suits};
use report::Table;
use router::engine::EngineKind;
use serde::Serialize;

use crate::common::{Json, Outcome, answer};

/// Name and version of the JSON form.
const SCHEMA: &str = "corelane-tune/1";
const NONE_TO_CHANGE: &str = "no setting to change\n";

/// Say which settings of interfaces would forward faster; change them, put them back
///
/// Changes nothing without --apply. New queues or rings may take a link down for a moment. Exit
/// code 0 when nothing is left to change, 3 when something is, 1 after an error.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The interfaces to forward between
    #[arg(value_name = "PORT", required_unless_present = "port")]
    ports: Vec<String>,
    /// The same as for `run`: separated by commas, or each with a --port of its own
    #[arg(long, value_name = "INTERFACE,...", value_delimiter = ',')]
    port: Vec<String>,
    /// What will move the frames
    #[arg(long, value_name = "ENGINE", default_value_t, value_enum)]
    engine: EngineKind,
    /// Cores that are to forward, such as 0-3,8 [default: all that may be used]
    #[arg(long, value_name = "LIST")]
    cores: Option<String>,
    /// Change the settings, after noting what they were
    #[arg(long, conflicts_with = "undo")]
    apply: bool,
    /// Put back what --apply changed, also after a crash of it
    #[arg(long)]
    undo: bool,
    /// Where the notes are, in the directory `corelane-tune`
    #[arg(long, value_name = "DIRECTORY", default_value = "/run")]
    run_directory: PathBuf,
    #[command(flatten)]
    json: Json,
}

impl Arguments {
    fn all_ports(&self) -> Vec<String> {
        [&self.ports[..], &self.port].concat()
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.undo {
        return put_back(arguments);
    }
    let machine = ::tune::Machine::read(forwarding_cores(arguments.cores.as_deref())?);
    let ports = arguments.all_ports();
    let look = || look(&ports, arguments.engine);
    let hints = hints(&machine, &look()?);
    let plan = || Ok(rules::changes(&machine, &look()?));
    if arguments.apply {
        let records = Records::open(&arguments.run_directory)?;
        let all = apply_all(&System, &records, plan)?;
        let refused = all.iter().any(is_refused);
        show(&arguments.json, all, NONE_TO_CHANGE, &hints)?;
        return Ok(exit(refused));
    }
    let changes = plan()?;
    let left = !changes.is_empty();
    show(&arguments.json, changes, NONE_TO_CHANGE, &hints)?;
    Ok(exit(left))
}

/// How many settings of these ports would be changed for the usual engine.
pub(crate) fn left(ports: &[String]) -> Result<usize, TuneError> {
    let cores = host::allowed_cores().unwrap_or_default();
    let ports = look(ports, EngineKind::default())?;
    Ok(rules::changes(&::tune::Machine::read(cores), &ports).len())
}

fn look(ports: &[String], engine: EngineKind) -> Result<Vec<Port>, TuneError> {
    let ports = ports.iter();
    ports
        .map(|port| Port::read(port, entry(port, engine)))
        .collect()
}

/// Where the engine has the frames of a port.
fn entry(port: &str, engine: EngineKind) -> Entry {
    match engine {
        EngineKind::Xdp | EngineKind::XdpKernelFib => Entry::Xdp,
        EngineKind::Tc => Entry::Tc,
        EngineKind::AfXdp => Entry::XdpSockets,
        EngineKind::AfPacket => Entry::PacketSockets,
        EngineKind::Auto => {
            let suits = host::namespace::index_of(port).and_then(|index| Suits::ask(port, index));
            match suits.map(Suits::place) {
                Ok(Place::Xdp(_)) => Entry::Xdp,
                // A port that does not exist is told by the one who reads it.
                _ => Entry::Tc,
            }
        }
    }
}

fn put_back(arguments: &Arguments) -> Outcome {
    let records = Records::open(&arguments.run_directory)?;
    let mut all = Vec::new();
    for port in &arguments.all_ports() {
        match undo(&System, &records, port)? {
            Some(made) => all.extend(made),
            None => eprintln!("corelane: no record of {port} here; nothing of it was changed"),
        }
    }
    let refused = all.iter().any(is_refused);
    show(&arguments.json, all, "no setting to put back\n", &[])?;
    if refused {
        return Err("a device refused its former value; the record is kept: --undo again".into());
    }
    Ok(ExitCode::SUCCESS)
}

fn is_refused(made: &Made) -> bool {
    matches!(made.outcome, Fate::Refused(_))
}

fn exit(is_left: bool) -> ExitCode {
    answer(!is_left)
}

/// What `corelane tune` would change, changed or put back.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Tuning<'a> {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    settings: Vec<Setting>,
    /// What only the machine's owner can change.
    hints: &'a [Hint],
}

/// A setting of a port.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Setting {
    /// It would be changed.
    Planned {
        port: String,
        setting: String,
        now: String,
        wanted: String,
        why: &'static str,
    },
    /// It was changed, or could not be.
    Made {
        port: String,
        setting: String,
        was: String,
        wanted: String,
        outcome: String,
    },
}

impl From<Change> for Setting {
    fn from(change: Change) -> Self {
        Self::Planned {
            setting: change.setting.to_string(),
            port: change.port,
            now: change.from,
            wanted: change.to,
            why: change.why,
        }
    }
}

impl From<Made> for Setting {
    fn from(made: Made) -> Self {
        Self::Made {
            setting: made.setting.to_string(),
            outcome: match made.outcome {
                Fate::Done => "done".to_owned(),
                Fate::Refused(reason) => format!("refused: {reason}"),
                Fate::Gone => "gone with its device".to_owned(),
            },
            port: made.port,
            was: made.from,
            wanted: made.to,
        }
    }
}

impl Setting {
    /// The names of the five things that are said of it.
    fn names(&self) -> [&'static str; 5] {
        match self {
            Self::Planned { .. } => ["port", "setting", "now", "wanted", "why"],
            Self::Made { .. } => ["port", "setting", "was", "wanted", "outcome"],
        }
    }

    /// These things.
    fn cells(&self) -> [&str; 5] {
        match self {
            Self::Planned {
                port,
                setting,
                now,
                wanted,
                why,
            } => [port, setting, now, wanted, why],
            Self::Made {
                port,
                setting,
                was,
                wanted,
                outcome,
            } => [port, setting, was, wanted, outcome],
        }
    }
}

/// Tells of settings, all of them planned or all made; `none` is said where there are none.
fn show<T: Into<Setting>>(
    to: &Json,
    settings: Vec<T>,
    none: &str,
    hints: &[Hint],
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let settings: Vec<Setting> = settings.into_iter().map(Into::into).collect();
    let mut text = none.to_owned();
    if let Some(first) = settings.first() {
        let table = Table::new("").texts(first.names());
        let row = |table: Table, setting: &Setting| table.row(setting.cells());
        text = settings.iter().fold(table, row).to_text();
    }
    if !hints.is_empty() {
        let table = Table::new("").texts(["by hand", "why"]);
        let row = |table: Table, hint: &Hint| table.row([hint.what.as_str(), hint.why]);
        text.extend(["\n", &hints.iter().fold(table, row).to_text()]);
    }
    let schema = SCHEMA;
    let all = Tuning {
        schema,
        settings,
        hints,
    };
    to.deliver(&text, &all)
}
