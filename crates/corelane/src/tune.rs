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
use serde_json::{Value, json};

use crate::common::{Json, Outcome, answer};

const SCHEMA: &str = "corelane-tune/1";

/// Say which settings of interfaces would forward faster; change them, put them back
///
/// Changes nothing without --apply. New queues or rings may take a link down for a moment. Exit
/// code 0 when nothing is left to change, 3 when something is, 1 after an error.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The interfaces to forward between
    #[arg(required = true, value_name = "PORT")]
    ports: Vec<String>,
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

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.undo {
        return put_back(arguments);
    }
    let machine = ::tune::Machine::read(forwarding_cores(arguments.cores.as_deref())?);
    let look = || look(&arguments.ports, arguments.engine);
    let hints = hints(&machine, &look()?);
    let plan = || Ok(rules::changes(&machine, &look()?));
    if arguments.apply {
        let records = Records::open(&arguments.run_directory)?;
        let all = apply_all(&System, &records, plan)?;
        show(
            &arguments.json,
            made(&all, "no setting to change\n"),
            &hints,
        )?;
        return Ok(exit(all.iter().any(is_refused)));
    }
    let changes = plan()?;
    show(&arguments.json, planned(&changes), &hints)?;
    Ok(exit(!changes.is_empty()))
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
    for port in &arguments.ports {
        match undo(&System, &records, port)? {
            Some(made) => all.extend(made),
            None => eprintln!("corelane: no record of {port} here; nothing of it was changed"),
        }
    }
    show(&arguments.json, made(&all, "no setting to put back\n"), &[])?;
    if all.iter().any(is_refused) {
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

/// What is said of settings: the names of five things, and for each setting these things.
struct Settings {
    names: [&'static str; 5],
    rows: Vec<[String; 5]>,
    /// Said where there are none.
    none: &'static str,
}

fn planned(changes: &[Change]) -> Settings {
    let rows = changes.iter().map(|change| {
        let (from, to) = (change.from.clone(), change.to.clone());
        let (port, setting) = (change.port.clone(), change.setting.to_string());
        [port, setting, from, to, change.why.to_owned()]
    });
    Settings {
        names: ["port", "setting", "now", "wanted", "why"],
        rows: rows.collect(),
        none: "no setting to change\n",
    }
}

fn made(all: &[Made], none: &'static str) -> Settings {
    let rows = all.iter().map(|made| {
        let outcome = match &made.outcome {
            Fate::Done => "done".to_owned(),
            Fate::Refused(reason) => format!("refused: {reason}"),
            Fate::Gone => "gone with its device".to_owned(),
        };
        let (from, to) = (made.from.clone(), made.to.clone());
        [
            made.port.clone(),
            made.setting.to_string(),
            from,
            to,
            outcome,
        ]
    });
    Settings {
        names: ["port", "setting", "was", "wanted", "outcome"],
        rows: rows.collect(),
        none,
    }
}

fn show(to: &Json, settings: Settings, hints: &[Hint]) -> Result<(), Box<dyn Error + Send + Sync>> {
    let Settings { names, rows, none } = settings;
    let mut text = none.to_owned();
    if !rows.is_empty() {
        let table = Table::new("").texts(names);
        text = rows.iter().cloned().fold(table, Table::row).to_text();
    }
    if !hints.is_empty() {
        let table = Table::new("").texts(["by hand", "why"]);
        let row = |table: Table, hint: &Hint| table.row([hint.what.as_str(), hint.why]);
        text.extend(["\n", &hints.iter().fold(table, row).to_text()]);
    }
    let object = |row: [String; 5]| {
        let pairs = names.iter().map(|name| (*name).to_owned());
        pairs.zip(row.map(Value::from)).collect::<Value>()
    };
    let rows: Vec<Value> = rows.into_iter().map(object).collect();
    let hints = hints.iter();
    let hints = hints.map(|hint| json!({"what": hint.what, "why": hint.why}));
    let hints: Vec<Value> = hints.collect();
    let value = json!({"schema": SCHEMA, "settings": rows, "hints": hints});
    to.deliver(&text, &value)
}
