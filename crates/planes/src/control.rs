//! The control plane's end of a user plane: commands down, answers and counters up.

use std::time::{Duration, Instant};

use agent::protocol::{AGENT, Answer, CONTROL, Command, Counters, LONGEST_MESSAGE};
use icc::conformance::exercise;
use icc::{Link, Mapping, Priority};

use crate::error::Error;

/// The agent looks at its link at least this often, the slowest guest's too.
const AGENT_TURN: Duration = Duration::from_millis(20);
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends one command and waits for its answer.
///
/// # Errors
/// [`Error`].
pub fn command(link: &mut Link<Mapping>, command: &Command) -> Result<(), Error> {
    tell(link, command)?;
    answer(link)
}

/// Sends one command.
fn tell(link: &mut Link<Mapping>, command: &Command) -> Result<(), Error> {
    let text = serde_json::to_vec(command).map_err(Error::Answer)?;
    Ok(link.send_message(CONTROL, AGENT, Priority::Normal, &text)?)
}

/// Sends a command after which the agent does nothing else, and waits until it has begun. Counters
/// that were on their way are gone then: they would be taken for what the command brings.
///
/// # Errors
/// [`Error`].
pub(crate) fn begin(link: &mut Link<Mapping>, command: &Command) -> Result<(), Error> {
    tell(link, command)?;
    std::thread::sleep(AGENT_TURN);
    while link.receive_packet(&mut [0; 64])?.is_some() {}
    Ok(())
}

/// Has the user plane's agent be a mirror, and tries on it everything that the link's transport
/// must do.
///
/// # Errors
/// [`Error`].
pub fn conform(link: &mut Link<Mapping>) -> Result<(), Error> {
    begin(link, &Command::Mirror)?;
    exercise(link)?;
    answer(link)
}

/// Waits for the answer to a command already sent.
///
/// # Errors
/// [`Error`].
pub(crate) fn answer(link: &mut Link<Mapping>) -> Result<(), Error> {
    let mut buffer = vec![0; LONGEST_MESSAGE];
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        link.beat();
        if let Some(message) = link.receive_message(&mut buffer)? {
            return match serde_json::from_slice(&buffer[..message.length]) {
                Ok(Answer::Done) => Ok(()),
                Ok(Answer::Failed(why)) => Err(Error::Refused(why)),
                Err(error) => Err(Error::Answer(error)),
            };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(Error::Silent(PATIENCE.as_secs()))
}

/// The latest counters that the user plane has sent, or `None` when none came since the last call.
///
/// # Errors
/// [`Error::Link`].
pub fn counters(link: &mut Link<Mapping>) -> Result<Option<Counters>, Error> {
    link.beat();
    let mut buffer = [0; 64];
    let mut latest = None;
    while let Some(length) = link.receive_packet(&mut buffer)? {
        latest = Counters::unpack(&buffer[..length]).or(latest);
    }
    Ok(latest)
}
