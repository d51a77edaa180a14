//! Engine `memory`: workers between memory ports. No network, no root: what the forwarding itself
//! costs.

use std::sync::Arc;
use std::time::Duration;

use fib::TableOrganisation;
use port::memory::Replay;
use report::units::Bytes;
use router::user_plane::memory_engine::{MemoryEngine, Trial};
use router::user_plane::test_traffic::{self, Destinations};

use crate::case::{Case, FRAME_SIZES, Sample};
use crate::device::{Abilities, Device, Setting};
use crate::error::Error;
use crate::kind::Kind;

/// Workers run this long before counting begins: their buffers and the nearest caches are warm
/// then.
const WARM_UP: Duration = Duration::from_millis(15);

struct Memory {
    cores: Vec<host::CoreId>,
    engines: Vec<MemoryEngine>,
    destinations: Vec<u32>,
    /// Frames of one size at a time: a million of them take 64 MiB.
    frames: Option<(u32, Arc<Replay>)>,
    table_bytes: Bytes,
}

/// The engine with the tables of `corelane run`, or with one organisation, filled with the
/// setting's routes.
///
/// # Errors
/// When the tables do not fit into memory.
pub fn engine(
    organisation: Option<TableOrganisation>,
    setting: &Setting,
) -> Result<MemoryEngine, Error> {
    let routes = setting.routes.given_out(setting.seed);
    let workers = setting.cores.len();
    Ok(match organisation {
        None => MemoryEngine::as_shipped(&routes, workers)?,
        Some(organisation) => MemoryEngine::build(organisation, &routes, workers)?,
    })
}

/// The tables that a kind `memory` can have.
fn tables() -> impl Iterator<Item = Option<TableOrganisation>> {
    Kind::ALL.into_iter().filter_map(|kind| match kind {
        Kind::Memory(organisation) => Some(organisation),
        _ => None,
    })
}

/// Builds the shipped table and one of each organisation.
///
/// # Errors
/// When the tables do not fit into memory.
pub fn open(setting: &Setting) -> Result<Box<dyn Device>, Error> {
    let engines = tables()
        .map(|organisation| engine(organisation, setting))
        .collect::<Result<Vec<_>, _>>()?;
    let shipped = engines.first();
    let table_bytes = Bytes(shipped.map_or(0, |shipped| shipped.memory().used() as u64));
    Ok(Box::new(Memory {
        cores: setting.cores.clone(),
        engines,
        destinations: setting.routes.destinations.clone(),
        frames: None,
        table_bytes,
    }))
}

impl Device for Memory {
    fn abilities(&self) -> Abilities {
        Abilities {
            kinds: tables().map(Kind::Memory).collect(),
            sizes: &FRAME_SIZES,
            most_workers: self.cores.len(),
            takes_changes: true,
            searched: false,
            overhead: WARM_UP,
        }
    }

    fn method(&self) -> String {
        format!(
            "Table `shipped` is read by the worker loop of `corelane run`, as there. The other \
             tables are experiments: no engine that `corelane run` starts has them. Frames are \
             replayed from memory. Each is copied into a fresh buffer, checked, looked up, \
             rewritten and released. There is no network and no system call in it. A memory port \
             always has the next frame, so no frame is lost for lack of speed. The rate is the \
             throughput without a search. The shipped table takes {}, both address families. \
             Route changes are made by a thread that shares the workers' cores.",
            self.table_bytes
        )
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let frames = self.frames(case.frame_bytes)?;
        let engine = self
            .engines
            .iter()
            .find(|engine| Kind::Memory(engine.organisation()) == case.kind)
            .ok_or_else(|| format!("{case}: no case of the engine without a network"))?;
        let outcome = engine.run_after(
            WARM_UP,
            &Trial {
                cores: &self.cores[case.cores()],
                frames: &frames,
                duration: trial,
                route_changes_per_second: case.changes as u32,
            },
        )?;
        Ok(Sample {
            frames_per_second: outcome.frames_per_second(),
            changes_per_second: outcome.route_changes_per_second(),
            counted: outcome.counted,
        })
    }
}

impl Memory {
    fn frames(&mut self, frame_bytes: u32) -> Result<Arc<Replay>, Error> {
        match &self.frames {
            Some((size, frames)) if *size == frame_bytes => Ok(Arc::clone(frames)),
            _ => {
                // The old ones go before the new ones come.
                self.frames = None;
                let frames = Arc::new(test_traffic::frames(
                    Destinations::V4(&self.destinations),
                    frame_bytes as usize,
                )?);
                self.frames = Some((frame_bytes, Arc::clone(&frames)));
                Ok(frames)
            }
        }
    }
}
