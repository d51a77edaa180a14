//! The control plane's end of a user plane: commands down, answers and counters up.

use std::time::{Duration, Instant};

use agent::protocol::{AGENT, Answer, CONTROL, Command, Counters, LONGEST_MESSAGE};
use icc::conformance::{Violation, exercise};
use icc::{Link, LinkError, Mapping, Priority};

/// The agent looks at its link at least this often, the slowest guest's too.
pub(crate) const AGENT_TURN: Duration = Duration::from_millis(20);
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the user plane did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The link between the planes.
    #[error("between control and user plane: {0}")]
    Link(#[from] LinkError),
    /// A transport that is none.
    #[error("the link between the planes does not keep its rules: {0}")]
    Violation(#[from] Violation),
    /// No answer.
    #[error("the user plane has not answered for {} s", PATIENCE.as_secs())]
    Silent,
    /// An answer that says no.
    #[error("the user plane refuses: {0}")]
    Refused(String),
    /// An answer nobody understands.
    #[error("the user plane's answer is not understood: {0}; are both of one build?")]
    Answer(serde_json::Error),
}

/// Sends one command and waits for its answer.
///
/// # Errors
/// [`ControlError`].
pub fn command(link: &mut Link<Mapping>, command: &Command) -> Result<(), ControlError> {
    let text = serde_json::to_vec(command).map_err(ControlError::Answer)?;
    link.send_message(CONTROL, AGENT, Priority::Normal, &text)?;
    answer(link)
}

/// Has the user plane's agent be a mirror, and tries on it everything that the link's transport
/// must do.
///
/// # Errors
/// [`ControlError`].
pub fn conform(link: &mut Link<Mapping>) -> Result<(), ControlError> {
    while link.receive_packet(&mut [0; 64])?.is_some() {}
    let text = serde_json::to_vec(&Command::Mirror).map_err(ControlError::Answer)?;
    link.send_message(CONTROL, AGENT, Priority::Normal, &text)?;
    // Counters that were on their way would be taken for what the mirror sends.
    std::thread::sleep(AGENT_TURN);
    while link.receive_packet(&mut [0; 64])?.is_some() {}
    exercise(link)?;
    answer(link)
}

/// Waits for the answer to a command already sent.
///
/// # Errors
/// [`ControlError`].
pub(crate) fn answer(link: &mut Link<Mapping>) -> Result<(), ControlError> {
    let mut buffer = vec![0; LONGEST_MESSAGE];
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        link.beat();
        if let Some(message) = link.receive_message(&mut buffer)? {
            return match serde_json::from_slice(&buffer[..message.length]) {
                Ok(Answer::Done) => Ok(()),
                Ok(Answer::Failed(why)) => Err(ControlError::Refused(why)),
                Err(error) => Err(ControlError::Answer(error)),
            };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(ControlError::Silent)
}

/// The latest counters that the user plane has sent, or `None` when none came since the last call.
///
/// # Errors
/// [`ControlError::Link`].
pub fn counters(link: &mut Link<Mapping>) -> Result<Option<Counters>, ControlError> {
    link.beat();
    let mut buffer = [0; 64];
    let mut latest = None;
    while let Some(length) = link.receive_packet(&mut buffer)? {
        latest = Counters::unpack(&buffer[..length]).or(latest);
    }
    Ok(latest)
}
