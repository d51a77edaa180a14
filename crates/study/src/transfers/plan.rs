//! What is transferred, how often and for how long. Pure: no clock, no machine.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tester::mix::IMIX;
use transfer::Offloads;

use super::Load;

/// The MTU of Ethernet, and that of jumbo frames.
const MTUS: [u16; 2] = [1500, 9000];
/// Flows of one transfer: a single one, and enough for every core to have some.
const FLOWS: [usize; 2] = [1, 8];
/// Connections fill their windows before anything counts.
pub(super) const WARM_UP: Duration = Duration::from_millis(50);
/// Time of a transfer beyond warm-up and trial: sockets and threads come and go.
const OVERHEAD: Duration = Duration::from_millis(20);
/// Shortest trial: the kernel counts time in hundredths of a second.
const TRIAL_MIN: Duration = Duration::from_millis(60);
/// Longest trial: more rounds say more than longer ones.
const TRIAL_MAX: Duration = Duration::from_millis(400);

/// What hosts and cables are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Ground {
    /// Whether segments and checksums are left to the hosts' interfaces.
    pub(crate) offloads: bool,
    /// Of all cables, bytes.
    pub(crate) mtu: u16,
}

impl Ground {
    pub(super) fn offloads(self) -> Offloads {
        if self.offloads {
            Offloads::On
        } else {
            Offloads::Off
        }
    }
}

/// A transfer on a ground: what a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Case {
    /// What is sent.
    pub(crate) load: Load,
    /// By how many flows.
    pub(crate) flows: usize,
    #[serde(flatten)]
    pub(crate) ground: Ground,
}

impl Case {
    /// `TCP, 8 flows, offloads off, MTU 9000`.
    pub(crate) fn in_words(self) -> String {
        let Self { flows, ground, .. } = self;
        let Ground { offloads, mtu } = ground;
        let load = match self.load {
            Load::Tcp => "TCP",
            Load::UdpSegments => "UDP with GSO",
            Load::Imix => "IMIX",
        };
        let plural = if flows == 1 { "" } else { "s" };
        let offloads = if offloads { "on" } else { "off" };
        format!("{load}, {flows} flow{plural}, offloads {offloads}, MTU {mtu}")
    }

    /// Whether it is TCP with what a new veth does: what the answer of a study says.
    pub(crate) fn is_ordinary(self) -> bool {
        let ordinary = Ground {
            offloads: true,
            mtu: MTUS[0],
        };
        self.load == Load::Tcp && self.ground == ordinary
    }

    /// As the transfer that it is.
    pub(super) fn transfer(self) -> transfer::Transfer {
        transfer::Transfer {
            load: match self.load {
                Load::Tcp => transfer::Load::Tcp,
                Load::UdpSegments => transfer::Load::Segments,
                Load::Imix => transfer::Load::Mix(&IMIX),
            },
            flows: self.flows,
        }
    }
}

/// Which of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What the answer says.
    Ordinary,
    /// What most people have.
    Some,
    /// Every one.
    All,
}

/// The cases, those of a ground side by side: TCP on every ground, datagrams where frames have
/// Ethernet's MTU.
pub(crate) fn cases(extent: Extent) -> Vec<Case> {
    let mut cases = Vec::new();
    for mtu in MTUS {
        for offloads in [true, false] {
            let ground = Ground { offloads, mtu };
            let mut add = |load, flows| {
                cases.push(Case {
                    load,
                    flows,
                    ground,
                });
            };
            for flows in FLOWS {
                add(Load::Tcp, flows);
            }
            if mtu == MTUS[0] {
                add(Load::UdpSegments, FLOWS[0]);
                add(Load::Imix, FLOWS[1]);
            }
        }
    }
    cases.retain(|case| {
        let with = case.ground.offloads || (case.load, case.flows) == (Load::Tcp, FLOWS[0]);
        match extent {
            Extent::Ordinary => case.is_ordinary(),
            Extent::Some => case.ground.mtu == MTUS[0] && with,
            Extent::All => true,
        }
    });
    cases
}

/// How often each device transfers each case, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) rounds: usize,
    /// Of [ordinary](Case::is_ordinary) cases at least so many.
    pub(crate) ordinary: usize,
    pub(crate) trial: Duration,
}

impl Pace {
    /// What takes about `time` with `cases` through so many devices: at most so many rounds of the
    /// ordinary ones and of the others, fewer where the time is too short, first of the ordinary ones.
    pub(crate) fn within(
        time: Duration,
        (ordinary, rounds): (usize, usize),
        cases: &[Case],
        devices: usize,
    ) -> Self {
        let usual = cases.iter().filter(|case| case.is_ordinary()).count() * devices;
        let others = cases.len() * devices - usual;
        let least = WARM_UP + TRIAL_MIN + OVERHEAD;
        let fit = (time.as_secs_f64() / least.as_secs_f64()) as usize;
        let rounds = (fit / (usual + others).max(1)).clamp(1, rounds.max(1));
        let left = fit.saturating_sub(others * rounds) / usual.max(1);
        let ordinary = left.clamp(rounds, ordinary.max(rounds));
        let all = usual * ordinary + others * rounds;
        Self {
            rounds,
            ordinary,
            trial: (time / all.max(1) as u32)
                .saturating_sub(WARM_UP + OVERHEAD)
                .clamp(TRIAL_MIN, TRIAL_MAX),
        }
    }

    /// So many rounds of a case.
    pub(super) fn rounds_of(self, case: Case) -> usize {
        if case.is_ordinary() {
            self.rounds.max(self.ordinary)
        } else {
            self.rounds
        }
    }
}
