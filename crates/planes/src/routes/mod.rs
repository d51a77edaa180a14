//! Route changes of the control plane, and how they reach every user plane.
//!
//! They come from one of two places: generated here, or from BIRD, which has them from a BGP
//! neighbour (us) at the same rate, chooses the best and gives them to its kernel, whence we hear
//! of them. Either way each user plane gets them as packets on its link, with the next hops that it
//! has itself.

mod bgp;
mod bird;
mod change;

use std::net::Ipv4Addr;

use agent::protocol::{ROUTES_PER_PACKET, Route, pack_routes};
use clap::ValueEnum;
use host::CoreId;
use icc::LinkError;
use serde::{Deserialize, Serialize};

use self::bird::Bird;
pub use self::bird::installed;
use self::change::Change;
use crate::deployment::UserPlane;
use crate::error::Error;
use crate::site::Pair;

/// Where route changes come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// [`Error`].
    pub fn new(origin: Origin, pairs: &[Pair], cores: Option<&[CoreId]>) -> Result<Self, Error> {
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
    /// [`Error`]. A full link is none: those changes are made again.
    pub fn send(&mut self, planes: &mut [UserPlane], count: usize) -> Result<usize, Error> {
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
    fn pass_on(&mut self, planes: &mut [UserPlane], changes: &[Change]) -> Result<usize, Error> {
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
