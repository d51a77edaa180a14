//! Reading: a file's bytes become a [`Trace`]. Nothing in a file is believed before it is checked.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::block::Block;
use super::events::{self, Cursor};
use super::{MAGIC, VERSION, task};
use crate::event::{TaskChange, TaskNews};
use crate::trace::Trace;

/// Why a file is not a trace.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The first bytes are not ours.
    #[error(
        "not a corelane trace: it begins with {0:?}; record one with `corelane trace record -o \
         FILE -- COMMAND`"
    )]
    Foreign(String),
    /// Another version of the format.
    #[error(
        "this trace has format version {found}; this program reads up to version {VERSION}: \
         report it with the program that recorded it"
    )]
    Version {
        /// The version in the file.
        found: u8,
    },
    /// The file ends before it says what was recorded.
    #[error(
        "the trace ends after {0} bytes, before its header is complete: nothing can be read from \
         it"
    )]
    NoHeader(usize),
    /// The header is not what this version writes.
    #[error("the trace's {what} cannot be read: {cause}")]
    Json {
        /// Which part.
        what: &'static str,
        /// What the parser says.
        cause: serde_json::Error,
    },
    /// The file cannot be read at all.
    #[error("cannot read {path}: {cause}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        cause: std::io::Error,
    },
}

impl Trace {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ReadError`] when it is not a trace. A trace that was cut off or damaged is read as far as
    /// it is sound; see [`Trace::complaints`].
    pub fn open(path: &std::path::Path) -> Result<Self, ReadError> {
        let bytes = std::fs::read(path).map_err(|cause| ReadError::Io {
            path: path.display().to_string(),
            cause,
        })?;
        Self::from_bytes(&bytes)
    }

    /// Reads a trace from memory.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        let magic = bytes.get(..MAGIC.len()).unwrap_or(bytes);
        if magic != MAGIC {
            return Err(ReadError::Foreign(
                String::from_utf8_lossy(&magic[..magic.len().min(12)]).into_owned(),
            ));
        }
        let found = *bytes
            .get(MAGIC.len())
            .ok_or(ReadError::NoHeader(bytes.len()))?;
        if !(1..=VERSION).contains(&found) {
            return Err(ReadError::Version { found });
        }
        let mut header = None;
        let mut trailer = None;
        let mut cores: BTreeMap<u16, Vec<Block<'_>>> = BTreeMap::new();
        let mut tasks = Vec::new();
        let mut complaints = Vec::new();
        let mut at = MAGIC.len() + 1;
        while let Some(block) = Block::at(bytes, at) {
            at += block.length;
            if !block.sound {
                complaints.push(format!(
                    "a block of {} entries of core {} is damaged (checksum differs): its events \
                     are missing",
                    block.count, block.cpu
                ));
                continue;
            }
            match block.kind {
                b'H' => header = Some(json(&block, "header")?),
                b'E' => trailer = Some(json(&block, "end")?),
                b'C' => cores.entry(block.cpu).or_default().push(block),
                b'T' if read_tasks(&block, &mut tasks).is_none() => {
                    complaints.push(
                        "a block of thread names breaks off: some names are missing".to_owned(),
                    );
                }
                _ => {}
            }
        }
        let header = header.ok_or(ReadError::NoHeader(bytes.len()))?;
        if trailer.is_none() {
            complaints.push(
                "the trace was cut off: its end is missing, so losses, lock names and code places \
                 are unknown"
                    .to_owned(),
            );
        }
        let (events, broken) = events::merged(&cores);
        complaints.extend(broken.into_iter().map(|cpu| {
            format!(
                "a block of core {cpu} breaks off in the middle of an event: the rest of it is \
                 missing"
            )
        }));
        tasks.sort_by_key(|change: &TaskChange| change.time);
        Ok(Self {
            header,
            trailer: trailer.unwrap_or_default(),
            events,
            tasks,
            complaints,
        })
    }
}

fn json<T: DeserializeOwned>(block: &Block<'_>, what: &'static str) -> Result<T, ReadError> {
    serde_json::from_slice(&block.payload).map_err(|cause| ReadError::Json { what, cause })
}

fn read_tasks(block: &Block<'_>, tasks: &mut Vec<TaskChange>) -> Option<()> {
    let mut cursor = Cursor::new(&block.payload);
    while !cursor.at_end() {
        let (time, tid, process) = (cursor.number()?, cursor.small()?, cursor.small()?);
        let what = match cursor.byte()? {
            task::NAMED => TaskNews::Named(cursor.text()?),
            task::FORKED => TaskNews::Forked {
                parent: cursor.small()?,
            },
            task::EXITED => TaskNews::Exited,
            _ => return None,
        };
        tasks.push(TaskChange {
            time,
            tid,
            process,
            what,
        });
    }
    Some(())
}
