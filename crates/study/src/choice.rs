//! From options to engines, cores and routes that exist, or an error that names the remedy.

use std::path::PathBuf;

use dut::error::Error;
use dut::kind::Kind;
use host::cores::write_list;
use host::{CoreId, Topology};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Wishes<'a> {
    /// Names of engines; none: all that can run here.
    pub engines: &'a [String],
    /// Use at most so many cores; `None`: all that this process may use.
    pub cores: Option<usize>,
    /// The routes file; `None`: a table generated with the Internet's size and shape.
    pub routes: Option<PathBuf>,
}

/// What to study with.
pub struct Choice {
    /// The engines, in the order of the list.
    pub(crate) engines: Vec<Kind>,
    /// The cores that workers are pinned to: one thread of every physical core first.
    pub(crate) cores: Vec<CoreId>,
    /// The routes file, if one was named.
    pub(crate) routes: Option<PathBuf>,
    /// What cannot be measured here, and why: sentences for the report.
    pub(crate) left_out: Vec<String>,
}

/// Checks the options against this machine.
///
/// # Errors
/// An unknown engine, one that needs root without it, more cores than there are.
pub fn choose(wishes: &Wishes) -> Result<Choice, Error> {
    let root = host::process::is_root();
    let mut left_out = Vec::new();
    let engines = if wishes.engines.is_empty() {
        let (able, unable): (Vec<Kind>, Vec<Kind>) =
            engines().partition(|kind| root || !kind.needs_root());
        if !unable.is_empty() {
            let names: Vec<&str> = unable.iter().map(|kind| kind.engine()).collect();
            left_out.push(format!(
                "Not measured without root: {}. Run the command with sudo to add them.",
                names.join(", ")
            ));
        }
        able
    } else {
        named_engines(wishes.engines, root)?
    };
    let allowed = host::allowed_cores()?;
    let cores = match wishes.cores {
        None => allowed.len(),
        Some(0) => return Err("--cores 0: a study needs at least one core; give 1 or more".into()),
        Some(wanted) if wanted > allowed.len() => {
            return Err(format!(
                "--cores {wanted}: this process may use {} (numbers {}); ask for at most that \
                 many, or allow it more (taskset, cpuset)",
                allowed.len(),
                write_list(&allowed)
            )
            .into());
        }
        Some(wanted) => wanted,
    };
    let mut order = Topology::read().physical_first(&allowed);
    order.truncate(cores);
    Ok(Choice {
        engines,
        cores: order,
        routes: wishes.routes.clone(),
        left_out,
    })
}

fn named_engines(names: &[String], root: bool) -> Result<Vec<Kind>, Error> {
    for name in names {
        let Some(kind) = engines().find(|kind| kind.engine() == name) else {
            return Err(format!(
                "there is no engine \"{name}\"; the engines are: {}",
                engines().map(Kind::engine).collect::<Vec<_>>().join(", ")
            )
            .into());
        };
        if kind.needs_root() && !root {
            return Err(format!(
                "the engine {name} needs root, to make network namespaces; run the command with \
                 sudo, or choose --engine memory"
            )
            .into());
        }
    }
    Ok(engines()
        .filter(|kind| names.iter().any(|name| name == kind.engine()))
        .collect())
}

/// A kind of each engine, in the order in which reports name them.
fn engines() -> impl Iterator<Item = Kind> {
    let mut kinds = Kind::ALL.to_vec();
    // Those of an engine stand side by side.
    kinds.dedup_by_key(|kind| kind.engine());
    kinds.into_iter()
}

#[cfg(test)]
#[path = "../tests/unit/choice.rs"]
mod tests;
