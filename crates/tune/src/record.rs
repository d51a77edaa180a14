//! What settings were before they were changed, on disk.
//!
//! A file for each port, for root only. It is written beside, brought to disk, then renamed, so
//! there is always a whole one. No link is followed. A lock on the directory keeps two programs
//! from changing settings at once.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::setting::Setting;

const SCHEMA: &str = "corelane-tune-record/1";
/// Longest name of an interface (IFNAMSIZ less the final zero).
const NAME_MAX: usize = 15;

/// Why settings were neither changed nor put back.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The record cannot be read or written.
    #[error("{path}: {source}; settings are changed only where what was can be noted")]
    Record {
        /// Which file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The record is not one of ours.
    #[error(
        "{path} is no record of this version ({why}); put the settings back by hand, remove it"
    )]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// There is no such port.
    #[error("no interface `{port}` in this network namespace: {source}; `ip link` lists them")]
    NoPort {
        /// Its name.
        port: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// `/sys` is another namespace's.
    #[error(
        "/sys shows another network namespace than that of `{port}`; enter it by `ip netns exec`"
    )]
    Elsewhere {
        /// The port.
        port: String,
    },
}

/// What a port's settings were before `corelane tune` changed them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    schema: String,
    /// The port.
    pub port: String,
    /// Its index.
    pub index: u32,
    /// Each setting that was changed, or was about to be, with its former value.
    pub before: Vec<(Setting, String)>,
}

impl Record {
    /// Of a port of which nothing has been changed.
    pub fn new(port: &str, index: u32) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            port: port.to_owned(),
            index,
            before: Vec::new(),
        }
    }
}

/// The records of the ports of a network namespace; nobody else changes them while this lives.
#[derive(Debug)]
pub struct Records {
    directory: PathBuf,
    /// Number of the namespace, which no other has until the machine starts anew.
    namespace: u64,
    /// Holds the lock.
    _lock: File,
}

impl Records {
    /// Waits for the records below `run_directory` and takes them.
    ///
    /// # Errors
    /// When the directory cannot be made or locked.
    pub fn open(run_directory: &Path) -> Result<Self, TuneError> {
        // Not the router's own: a service manager removes that with the service.
        let directory = run_directory.join("corelane-tune");
        let attempt = || {
            fs::create_dir_all(run_directory)?;
            match DirBuilder::new().mode(0o700).create(&directory) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let mut options = OpenOptions::new();
            options.read(true);
            let lock = options
                .custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY)
                .open(&directory)?;
            lock.lock()?;
            Ok((host::namespace::cookie()?, lock))
        };
        let (namespace, lock) = attempt().map_err(at(&directory))?;
        Ok(Self {
            directory,
            namespace,
            _lock: lock,
        })
    }

    /// The record of a port, if there is one.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn load(&self, port: &str) -> Result<Option<Record>, TuneError> {
        let path = self.path(port)?;
        let mut options = OpenOptions::new();
        let opened = options
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path);
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(at(&path))?,
        };
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(at(&path))?;
        let unreadable = |why: String| TuneError::Unreadable {
            path: path.clone(),
            why,
        };
        let record: Record =
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if record.schema != SCHEMA {
            return Err(unreadable(format!("schema {:?}", record.schema)));
        }
        Ok(Some(record))
    }

    /// Has a record on disk when it returns; a record of nothing is removed.
    ///
    /// # Errors
    /// When it cannot be written; the former one is still there then.
    pub fn store(&self, record: &Record) -> Result<(), TuneError> {
        let path = self.path(&record.port)?;
        let attempt = || {
            if record.before.is_empty() {
                return ignore_missing(fs::remove_file(&path));
            }
            let new = path.with_extension("new");
            // What a crash left.
            ignore_missing(fs::remove_file(&new))?;
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&new)?;
            file.write_all(serde_json::to_string(record)?.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(&self.directory)?.sync_all()
        };
        attempt().map_err(at(&path))
    }

    /// Where the record of a port lies.
    fn path(&self, port: &str) -> Result<PathBuf, TuneError> {
        let name = format!("{}-{port}.json", self.namespace);
        if port.is_empty() || port.len() > NAME_MAX || port.contains('/') {
            return Err(TuneError::NoPort {
                port: port.to_owned(),
                source: io::Error::from_raw_os_error(libc::ENODEV),
            });
        }
        Ok(self.directory.join(name))
    }
}

fn ignore_missing(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> TuneError {
    move |source| TuneError::Record {
        path: path.to_owned(),
        source,
    }
}
