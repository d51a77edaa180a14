//! Asks a running router.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The longest wait for an answer; a verification of a full table takes seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// The answer to a question, such as `ports` or `routes 100`, as JSON text.
///
/// # Errors
/// When no router answers on the socket; the error says so and what to do.
pub fn ask(socket: &Path, question: &str) -> io::Result<String> {
    let mut stream = connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    writeln!(stream, "{question}")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A connection to the router that answers there.
///
/// # Errors
/// When none does; the error says so and what to do.
pub fn connect(socket: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(socket).map_err(|error| {
        let remedy = "start one with corelane run, or name it with --instance and --run-directory";
        io::Error::new(
            error.kind(),
            format!(
                "no router answers on {}: {error}; {remedy}",
                socket.display()
            ),
        )
    })
}
