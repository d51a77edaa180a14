//! Hooks: shell commands around the tests.

use std::os::unix::process::CommandExt;
use std::process::Command;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Runs a hook and waits for it; in a process group of its own, so that Ctrl-C ends the test first
/// and cleaning up comes after.
///
/// # Errors
/// It cannot be started, or says that it failed.
pub(super) fn shell(command: &str) -> Result<(), Error> {
    let status = Command::new("sh")
        .args(["-c", command])
        .process_group(0)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("the command \"{command}\" ended with {status}").into())
    }
}
