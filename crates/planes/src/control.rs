//! The control plane's end of a user plane: commands down, answers and counters up.

use std::{
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use icc::{Link, LinkError, Mapping, Priority};

use crate::{
    netlink::Route,
    protocol::{
        AGENT, Answer, CONTROL, Command, Counters, LONGEST_MESSAGE, ROUTES_PER_PACKET, pack_routes,
    },
};

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the user plane did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The link between the planes.
    #[error("between control and user plane: {0}")]
    Link(#[from] LinkError),
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

/// Routes that change for ever: networks under 100.64.0.0/10 that come and come again by turns of
/// two next hops. None of them carries the tester's traffic.
#[derive(Debug)]
pub struct Changes {
    next: u32,
    via: [Ipv4Addr; 2],
}

/// Networks that take turns.
const NETWORKS: u32 = 4_096;

impl Changes {
    /// Changes between two next hops.
    pub fn new(via: [Ipv4Addr; 2]) -> Self {
        Self { next: 0, via }
    }

    /// Sends up to `count` changes; returns how many the link took.
    ///
    /// # Errors
    /// [`ControlError::Link`], except for a full link, which ends the turn.
    pub fn send(&mut self, link: &mut Link<Mapping>, count: usize) -> Result<usize, ControlError> {
        let mut sent = 0;
        while sent < count {
            let step = (count - sent).min(ROUTES_PER_PACKET);
            let routes: Vec<Route> = (0..step as u32).map(|ahead| self.route(ahead)).collect();
            match link.send_packet(&pack_routes(&routes)) {
                Ok(()) => {
                    self.next = self.next.wrapping_add(step as u32);
                    sent += step;
                }
                Err(LinkError::Full) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sent)
    }

    fn route(&self, ahead: u32) -> Route {
        let number = self.next.wrapping_add(ahead);
        let base = u32::from(Ipv4Addr::new(100, 64, 0, 0));
        Route {
            network: Ipv4Addr::from(base + (number % NETWORKS) * 256),
            length: 24,
            via: self.via[(number / NETWORKS % 2) as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_changes_the_next_hop_of_every_network() {
        let via = [Ipv4Addr::new(198, 18, 1, 2), Ipv4Addr::new(198, 19, 1, 2)];
        let changes = Changes::new(via);
        let (first, again) = (changes.route(5), changes.route(5 + NETWORKS));
        assert_eq!(first.network, again.network);
        assert_eq!(first.network, Ipv4Addr::new(100, 64, 5, 0));
        assert_eq!((first.via, again.via), (via[0], via[1]));
    }
}
