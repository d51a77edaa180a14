//! Route changes of the control plane, and how they reach every user plane.
//!
//! They come from one of two places: generated here, or from BIRD, which has them from a BGP
//! neighbour (us) at the same rate, chooses the best and gives them to its kernel, whence we hear
//! of them. Either way each user plane gets them as packets on its link, with the next hops that it
//! has itself.

mod bgp;
mod bird;

use std::net::Ipv4Addr;

use agent::protocol::{ROUTES_PER_PACKET, Route, pack_routes};
use clap::ValueEnum;
use host::CoreId;
use icc::LinkError;
use serde::{Deserialize, Serialize};

use self::bird::Bird;
pub use self::bird::{BirdError, installed};
use crate::deployment::UserPlane;
use crate::site::Pair;

/// Networks under 100.64.0.0/10 that come and come again by turns of two next hops. None of them
/// carries the tester's traffic.
const NETWORKS: u32 = 4_096;
const LENGTH: u8 = 24;

/// Where route changes come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Made by the control plane's own loop.
    #[default]
    Generated,
    /// Announced to BIRD by BGP, chosen and announced by it.
    Bird,
}

impl Origin {
    /// As tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generated => "generated",
            Self::Bird => "BIRD",
        }
    }
}

/// Why route changes do not go on.
#[derive(Debug, thiserror::Error)]
pub enum RoutesError {
    /// Their origin.
    #[error(transparent)]
    Bird(#[from] BirdError),
    /// The link to a user plane.
    #[error("between control and user plane: {0}")]
    Link(#[from] LinkError),
}

/// A change: a network, and by which side of the user plane it is reached now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    network: Ipv4Addr,
    length: u8,
    /// 0: towards the sender, 1: towards the receiver.
    side: usize,
}

impl Change {
    fn number(number: u32) -> Self {
        let base = u32::from(Ipv4Addr::new(100, 64, 0, 0));
        Self {
            network: Ipv4Addr::from(base + (number % NETWORKS) * 256),
            length: LENGTH,
            side: (number / NETWORKS % 2) as usize,
        }
    }

    /// The changes from `next` on.
    fn following(next: u32, count: usize) -> Vec<Self> {
        (0..count as u32)
            .map(|ahead| Self::number(next.wrapping_add(ahead)))
            .collect()
    }
}

/// Route changes that go on for ever.
pub struct Changes {
    source: Source,
    /// The two next hops of each user plane.
    ways: Vec<[Ipv4Addr; 2]>,
    next: u32,
    sent: u64,
}

enum Source {
    Generated,
    Bird(Box<Bird>),
    /// Packets without a route: what the channel itself costs.
    Empty,
}

impl Changes {
    /// Changes for the user planes of `pairs`, which come from `origin`. BIRD runs on `cores` where
    /// they are given.
    ///
    /// # Errors
    /// [`BirdError`].
    pub fn new(
        origin: Origin,
        pairs: &[Pair],
        cores: Option<&[CoreId]>,
    ) -> Result<Self, BirdError> {
        Ok(Self::of(
            match origin {
                Origin::Generated => Source::Generated,
                Origin::Bird => Source::Bird(Box::new(Bird::start(cores)?)),
            },
            pairs,
        ))
    }

    /// As many packets, and no route in them.
    pub(crate) fn empty(pairs: &[Pair]) -> Self {
        Self::of(Source::Empty, pairs)
    }

    fn of(source: Source, pairs: &[Pair]) -> Self {
        Self {
            source,
            ways: pairs
                .iter()
                .map(|pair| [pair.sender(), pair.receiver()])
                .collect(),
            next: 0,
            sent: 0,
        }
    }

    /// Makes `count` changes and sends what of them there is by now to all `planes`; returns how
    /// many were made. Those of BIRD come later, at one of the next calls.
    ///
    /// # Errors
    /// [`RoutesError`]. A full link is none: those changes are made again.
    pub fn send(&mut self, planes: &mut [UserPlane], count: usize) -> Result<usize, RoutesError> {
        let made = match &mut self.source {
            Source::Bird(bird) => {
                bird.announce(&Change::following(self.next, count))?;
                let heard = bird.heard()?;
                self.pass_on(planes, &heard)?;
                count
            }
            Source::Generated => {
                let changes = Change::following(self.next, count);
                self.pass_on(planes, &changes)?
            }
            Source::Empty => {
                for plane in planes {
                    for _ in 0..count {
                        // A full link costs the other plane all it can; more would not be taken.
                        if plane.link().send_packet(&[]) == Err(LinkError::Full) {
                            break;
                        }
                    }
                }
                count
            }
        };
        self.next = self.next.wrapping_add(made as u32);
        Ok(made)
    }

    /// Changes that went onto links so far, those of all user planes together.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends changes to all planes until a link is full; returns how many all of them got.
    fn pass_on(
        &mut self,
        planes: &mut [UserPlane],
        changes: &[Change],
    ) -> Result<usize, RoutesError> {
        let mut passed = 0;
        for changes in changes.chunks(ROUTES_PER_PACKET) {
            for (plane, ways) in planes.iter_mut().zip(&self.ways) {
                let routes: Vec<Route> = changes
                    .iter()
                    .map(|change| Route {
                        network: change.network,
                        length: change.length,
                        via: ways[change.side],
                    })
                    .collect();
                match plane.link().send_packet(&pack_routes(&routes)) {
                    Ok(()) => self.sent += routes.len() as u64,
                    Err(LinkError::Full) => return Ok(passed),
                    Err(error) => return Err(error.into()),
                }
            }
            passed += changes.len();
        }
        Ok(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_changes_the_side_of_every_network() {
        let (first, again) = (Change::number(5), Change::number(5 + NETWORKS));
        assert_eq!(first.network, again.network);
        assert_eq!(first.network, Ipv4Addr::new(100, 64, 5, 0));
        assert_eq!((first.side, again.side), (0, 1));
        assert_eq!(Change::following(4, 2), [Change::number(4), first]);
    }
}
