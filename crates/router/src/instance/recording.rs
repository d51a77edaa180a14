//! Recordings: on demand, and by themselves when something is wrong ([`super::triggers`]).
//!
//! A file is written by a thread of its own: the control plane waits for no disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Instance;
use super::triggers::{Second, Triggers};
use crate::engine::EngineError;
use crate::log::{Level, log};
use crate::management_plane::recording::{self, Why, now_ms};

/// Time between two recordings that nobody asked for.
const PAUSE: Duration = Duration::from_mins(1);
/// The most that is told, seconds.
const LONGEST: u64 = 900;

/// Whether something is wrong, and when that was written down last.
#[derive(Debug, Default)]
pub(super) struct Recording {
    triggers: Triggers,
    wrote: Option<Instant>,
}

impl Instance {
    /// The recording that somebody asks for: `words` may say of how many seconds.
    pub(super) fn recording(&self, words: &[String]) -> Result<String, EngineError> {
        let wrong = |why: String| EngineError::new("record", why);
        let seconds = match words {
            [] => LONGEST,
            [seconds] => seconds
                .parse()
                .map_err(|_| wrong(format!("{seconds}: give seconds, 1 to {LONGEST}")))?,
            _ => return Err(wrong("give seconds alone".to_owned())),
        };
        let why = Why {
            trigger: "asked",
            said: "somebody asked for it".to_owned(),
        };
        self.record_of(seconds, why).ok_or_else(|| {
            wrong(
                "this router keeps no history; set console = true or recorder.directory in its file, \
                 and start it again"
                    .to_owned(),
            )
        })
    }

    /// The last seconds, if there is a history.
    fn record_of(&self, seconds: u64, why: Why) -> Option<String> {
        let points = self.watching.points(seconds)?;
        let instance = self.config.instance.to_string();
        let mut raw = self.sampling.recent();
        raw.extend(self.looking.frames().cloned());
        let mut frames: Vec<_> = raw.iter().map(|raw| raw.told(&self.follower)).collect();
        frames.sort_by_key(|frame| frame.time_ms);
        let hitters = self.sampling.hitters_of_now();
        Some(recording::document(instance, why, &points, frames, hitters))
    }

    /// Writes a recording when something has gone wrong in a second.
    pub(super) fn judge(&mut self, second: &Second, now: Instant) {
        let config = &self.config.recorder;
        if !config.is_on() {
            return;
        }
        let whys = self.recording.triggers.judge(config, second);
        let Some(first) = whys.first() else {
            return;
        };
        if self
            .recording
            .wrote
            .is_some_and(|wrote| now.duration_since(wrote) < PAUSE)
        {
            let result = "no recording: the latest is of the last minute";
            for Why { trigger, said } in &whys {
                log!(Level::Info, "recording", trigger, said, result);
            }
            return;
        }
        self.recording.wrote = Some(now);
        let (seconds, keep) = (config.seconds, config.keep as usize);
        let directory = PathBuf::from(&config.directory);
        let prefix = format!("recording.{}.", self.config.instance);
        let trigger = first.trigger;
        let said: Vec<&str> = whys.iter().map(|why| why.said.as_str()).collect();
        let said = said.join("; ");
        let Some(text) = self.record_of(seconds.into(), Why { trigger, said }) else {
            return;
        };
        let write = move || {
            let name = format!("{prefix}{}.{trigger}.json", now_ms());
            let written = write(&directory, &prefix, &name, &text, keep);
            for Why { trigger, said } in &whys {
                match &written {
                    Ok(file) => {
                        let file = file.display();
                        log!(Level::Warning, "recording", trigger, said, file);
                    }
                    Err(error) => {
                        let directory = directory.display();
                        let result = "no recording: is recorder.directory there, may the router \
                                      write there, is there room?";
                        log!(
                            Level::Error,
                            "recording",
                            trigger,
                            said,
                            directory,
                            error,
                            result
                        );
                    }
                }
            }
        };
        let spawned = std::thread::Builder::new()
            .name("recording".into())
            .spawn(write);
        if let Err(error) = spawned {
            log!(Level::Error, "recording", trigger, error);
        }
    }
}

/// Writes a file, whole or not at all, and removes the oldest of too many. It is not renamed when it is
/// whole, for the router has not left itself that system call.
fn write(
    directory: &Path,
    prefix: &str,
    name: &str,
    text: &str,
    keep: usize,
) -> io::Result<PathBuf> {
    let file = directory.join(name);
    if let Err(error) = fs::write(&file, text) {
        // A part is of no use; without one there is nothing to remove.
        let _ = fs::remove_file(&file);
        return Err(error);
    }
    let entries = fs::read_dir(directory)?.filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ours: Vec<String> = names
        .filter(|name| {
            name.starts_with(prefix) && Path::new(name).extension() == Some("json".as_ref())
        })
        .collect();
    // Their names begin with the time.
    ours.sort_unstable();
    for old in ours.iter().rev().skip(keep) {
        // It is removed with the next one, or somebody else has done it.
        let _ = fs::remove_file(directory.join(old));
    }
    Ok(file)
}

#[cfg(test)]
#[path = "../../tests/unit/recording.rs"]
mod tests;
