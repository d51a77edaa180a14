//! `corelane show`: what a running router says.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use report::Table;
use router::management_plane::client;
use router::management_plane::config::InstanceName;
use serde_json::Value;

use crate::common::{Json, Outcome};

/// A router of this machine.
#[derive(Clone, clap::Args)]
pub(crate) struct Named {
    /// Name of the router
    #[arg(long, value_name = "NAME", default_value = "default")]
    instance: InstanceName,
    /// Where its socket is
    #[arg(long, value_name = "DIRECTORY", default_value = "/run/corelane")]
    run_directory: PathBuf,
}

/// Which router to ask, and where the raw answer goes.
#[derive(clap::Args)]
pub(crate) struct Which {
    #[command(flatten)]
    router: Named,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Show what a running router knows and counts
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// ports, vlans, tables, workers, routes [N | ADDRESS], neighbours, drops, hitters or engine
    #[arg(required = true, num_args = 1..=2, value_name = "SUBJECT")]
    subject: Vec<String>,
    #[command(flatten)]
    which: Which,
}

impl Named {
    /// Its answer.
    pub(crate) fn ask(&self, question: &str) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let answer = client::ask(&self.instance.socket(&self.run_directory), question)?;
        let value: Value = serde_json::from_str(&answer)?;
        match value.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.into()),
            None => Ok(value),
        }
    }
}

impl Which {
    /// Where the router answers.
    pub(crate) fn socket(&self) -> PathBuf {
        let Named {
            instance,
            run_directory,
        } = &self.router;
        instance.socket(run_directory)
    }
}

/// The answer of the router that `which` names.
pub(crate) fn ask(which: &Which, question: &str) -> Result<Value, Box<dyn Error + Send + Sync>> {
    which.router.ask(question)
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut value = ask(&arguments.which, &arguments.subject.join(" "))?;
    // The router lists a table part by part.
    if let Some(Value::Array(listed)) = value.pointer_mut("/routes/listed") {
        listed.sort_by_cached_key(|row| {
            let prefix = row["prefix"].as_str().map(str::parse::<fib::IpPrefix>);
            (row["table"].as_u64(), prefix.and_then(Result::ok))
        });
    }
    let text = shown(&value[&arguments.subject[0]]);
    arguments.which.json.deliver(&text, &value)?;
    Ok(ExitCode::SUCCESS)
}

/// Lists of objects as tables, objects as lines, lists inside objects after them.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Array(rows) if rows.is_empty() => "(none)\n".to_owned(),
        Value::Array(rows) if rows.iter().all(Value::is_object) => table(rows).to_text(),
        Value::Object(fields) => {
            let lines = fields.iter().filter(|(_, field)| !is_table(field));
            let tables = fields.iter().filter(|(_, field)| is_table(field));
            let lines = lines.map(|(name, field)| format!("{name}: {}\n", cell(field)));
            let tables = tables.map(|(name, field)| format!("{name}:\n{}", shown(field)));
            lines.chain(tables).collect()
        }
        other => format!("{}\n", cell(other)),
    }
}

fn is_table(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|rows| !rows.is_empty() && rows.iter().all(Value::is_object))
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Array(items) => items.iter().map(cell).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => fields.values().map(cell).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

fn table(rows: &[Value]) -> Table {
    // A row may lack what the others have: a port that is absent has no counts.
    let fullest = rows.iter().filter_map(Value::as_object);
    let fullest = fullest.max_by_key(|row| row.len());
    let names: Vec<String> = fullest
        .into_iter()
        .flat_map(|row| row.keys().cloned())
        .collect();
    let number = |name: &str| rows.iter().all(|row| row[name].is_number());
    let mut table = names.iter().fold(Table::new(""), |table, name| {
        let heading = name.replace('_', " ");
        if number(name) {
            table.number(heading)
        } else {
            table.text(heading)
        }
    });
    for row in rows {
        table.push(names.iter().map(|name| cell(&row[name.as_str()])));
    }
    table
}
