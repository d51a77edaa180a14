//! Has a routing daemon, or a command of the user's, withdraw what the router announces, and
//! restore it.
//!
//! Both daemons add the community of RFC 8326 to what they announce, so that neighbours prefer
//! every other way before this one goes. FRR has a command for that. BIRD has its configuration:
//! Corelane writes one constant to a file that it includes, and BIRD reads it again.

use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use router::management_plane::config::{Config, Routing};

/// Withdraws.
///
/// # Errors
/// What was run, what it said, and what to do.
pub(crate) fn withdraw(config: &Config) -> Result<(), String> {
    tell(config, true)
}

/// Undoes that.
///
/// # Errors
/// As above.
pub(crate) fn restore(config: &Config) -> Result<(), String> {
    tell(config, false)
}

fn tell(config: &Config, out: bool) -> Result<(), String> {
    let command = if out {
        &config.drain_withdraw
    } else {
        &config.drain_restore
    };
    match config.drain_routing {
        Routing::None if command.is_empty() => Ok(()),
        Routing::None => {
            let key = if out {
                "drain-withdraw"
            } else {
                "drain-restore"
            };
            let remedy = format!("look at {key} of the configuration");
            said("sh", &["-c", command], &remedy).map(drop)
        }
        Routing::Frr => frr(out),
        Routing::Bird => bird(&config.drain_bird_file, out),
    }
}

fn frr(out: bool) -> Result<(), String> {
    let no = if out { "" } else { "no " };
    let line = format!("{no}bgp graceful-shutdown");
    let words = ["-d", "bgpd", "-c", "configure terminal", "-c", &line];
    let remedy = "start FRR with bgpd (systemctl start frr), or give drain-withdraw";
    said("vtysh", &words, remedy).map(drop)
}

fn bird(file: &Path, out: bool) -> Result<(), String> {
    let name = file.display();
    let before = std::fs::read(file).ok();
    let text = format!("define corelane_draining = {out};\n");
    replace(file, text.as_bytes()).map_err(|error| {
        format!("writing {name}: {error}, it is as it was; look at drain-bird-file and its disk")
    })?;
    let remedy = "start BIRD (systemctl start bird), or give drain-withdraw";
    let told = said("birdc", &["configure"], remedy).map(drop);
    if told.is_err() {
        // BIRD would read it at its next start.
        let _stays = match before {
            Some(before) => replace(file, &before),
            None => std::fs::remove_file(file),
        };
    }
    told
}

/// Puts a whole file in the place of another, or leaves that as it is: BIRD does not start with half
/// of one, and a full disk would leave nothing of it.
fn replace(file: &Path, text: &[u8]) -> io::Result<()> {
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let beside = &file.with_added_extension("new");
    let write = || {
        std::fs::write(beside, text)?;
        if let Ok(before) = file.metadata() {
            std::fs::set_permissions(beside, before.permissions())?;
            chown(beside, Some(before.uid()), Some(before.gid()))?;
        }
        std::fs::rename(beside, file)
    };
    write().inspect_err(|_| {
        // It may not have been made.
        let _gone = std::fs::remove_file(beside);
    })
}

/// What a command that succeeds says.
fn said(program: &str, words: &[&str], remedy: &str) -> Result<String, String> {
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("running {program}: {error}; {remedy}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    if output.status.success() {
        return Ok(said);
    }
    let (line, status) = (words.join(" "), output.status);
    Err(format!("{program} {line}: {status}: {said}; {remedy}"))
}
