//! JSON files: the raw result, written whole or not at all.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A result file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write {}: {source}; name a file in a directory that exists and may be written",
    path.display()
)]
pub struct WriteError {
    /// The file that was asked for.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Reads a result of the form `schema` that was written before.
///
/// # Errors
/// In words: the file cannot be read, or holds something else or a result of another form.
pub fn read<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T, String> {
    let name = path.display();
    let value = value(path, &format!("a result of the form {schema}"))?;
    match value.get("schema").and_then(Value::as_str) {
        Some(other) if other != schema => Err(format!(
            "{name} has the form \"{other}\"; this version reads \"{schema}\": measure again"
        )),
        _ => T::deserialize(value)
            .map_err(|error| format!("{name} is no result of the form {schema}: {error}")),
    }
}

/// The form of a result that was written before: what it says of itself in `schema`; empty when it
/// says nothing.
///
/// # Errors
/// In words: the file cannot be read, or is no JSON.
pub fn form(path: &Path) -> Result<String, String> {
    let value = value(path, "a result")?;
    let form = value.get("schema").and_then(Value::as_str);
    Ok(form.unwrap_or_default().to_owned())
}

fn value(path: &Path, wanted: &str) -> Result<Value, String> {
    let name = path.display();
    let text = std::fs::read(path)
        .map_err(|error| format!("cannot read {name}: {error}; name a result's JSON"))?;
    serde_json::from_slice(&text)
        .map_err(|error| format!("{name} is not {wanted}: {error}; name a result's JSON"))
}

/// The name that a value without fields has in JSON; empty for any other value.
pub fn name(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    let name = value.as_ref().and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

/// The value that has this name in JSON.
pub fn named<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(name.into()).ok()
}

/// Writes `value` as indented JSON to `path`; `-` is standard output.
///
/// The text goes to a neighbouring temporary file that is then renamed, so a reader sees the old
/// file or the new one.
///
/// # Errors
/// When the file cannot be created, written or renamed, or `value` cannot be serialised.
pub fn write<T: Serialize + ?Sized>(path: impl AsRef<Path>, value: &T) -> Result<(), WriteError> {
    let path = path.as_ref();
    let mut text = serde_json::to_vec_pretty(value).map_err(|source| WriteError {
        path: path.to_owned(),
        source: source.into(),
    })?;
    text.push(b'\n');
    write_file(path, &text)
}

/// Adds `value` as one line to `path`, which is made if it is not there: whole, also when others add
/// lines at the same time.
///
/// # Errors
/// When the file cannot be opened or written, or `value` cannot be serialised.
pub fn append<T: Serialize + ?Sized>(path: &Path, value: &T) -> Result<(), WriteError> {
    let write = || {
        let mut text = serde_json::to_vec(value)?;
        text.push(b'\n');
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(&text)
    };
    write().map_err(|source| WriteError {
        path: path.to_owned(),
        source,
    })
}

/// Writes finished bytes to `path` in the same way as [`write()`]. A reader of standard output that
/// has read enough is no error.
///
/// # Errors
/// When the file cannot be created, written or renamed.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let result = if path == Path::new("-") {
        match io::stdout().lock().write_all(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            outcome => outcome,
        }
    } else {
        replace(path, bytes)
    };
    result.map_err(|source| WriteError {
        path: path.to_owned(),
        source,
    })
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A device or pipe (/dev/null, a named pipe) is written in place: renaming would replace it by
    // a file.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(path, bytes);
    }
    let mut name = path
        .file_name()
        .ok_or(io::ErrorKind::InvalidInput)?
        .to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}
