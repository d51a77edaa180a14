//! What the bounds compare, and what a comparison must hold.

use dut::bare::Bare;
use dut::case::{Case, SMALLEST};
use dut::device::{Device, Setting};
use dut::error::Error;
use dut::kind::Kind;
use dut::testpmd;
use fib::TableOrganisation;
use figures::Interval;
use host::CoreId;
use router::engine::EngineKind;
use serde::Serialize;
use tester::sizes::Family;

use crate::choice::Choice;

pub(crate) const SHIPPED: Kind = Kind::Memory(None);
pub(crate) const SHARED: Kind = Kind::Memory(Some(TableOrganisation::Shared));
pub(crate) const PER_CORE: Kind = Kind::Memory(Some(TableOrganisation::PerCore));
pub(crate) const XDP: Kind = Kind::Router(EngineKind::Xdp);
pub(crate) const TC: Kind = Kind::Router(EngineKind::Tc);
pub(crate) const KERNEL_FIB: Kind = Kind::Router(EngineKind::XdpKernelFib);

/// What a figure must be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Limit {
    AtLeast(f64),
    AtMost(f64),
    /// Missed when the whole interval lies below: for what is to be the same, which scatters around
    /// the bound.
    NotBelow(f64),
}

impl Limit {
    pub(crate) fn holds(self, median: f64, interval: Option<&Interval>) -> bool {
        match self {
            Self::AtLeast(bound) => median >= bound,
            Self::AtMost(bound) => median <= bound,
            Self::NotBelow(bound) => interval.map_or(median, |interval| interval.high) >= bound,
        }
    }

    pub(crate) fn in_words(self) -> String {
        match self {
            Self::AtLeast(bound) => format!("≥ {bound}"),
            Self::AtMost(bound) => format!("≤ {bound}"),
            Self::NotBelow(bound) => format!("not below {bound}"),
        }
    }
}

/// What a figure is, and what it must be.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Target {
    pub(crate) what: String,
    pub(crate) must: Option<Limit>,
    pub(crate) goal: Option<Limit>,
}

/// A device as the bounds want it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// Beside its generator on each core.
    Beside(Kind, Family),
    /// `af-xdp`, alone on the last core.
    Apart(Family),
    /// `testpmd`, in its place.
    Testpmd(Family),
    /// Generator, cable and sink alone.
    Bare(Family),
}

impl Place {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Beside(kind, _) => kind,
            Self::Apart(_) | Self::Testpmd(_) => Kind::Router(EngineKind::AfXdp),
            // The kernel alone moves its frames.
            Self::Bare(_) => Kind::Kernel,
        }
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Beside(Kind::Memory(_), _) => {
                format!("memory, {} table", self.kind().table())
            }
            Self::Beside(_, family) | Self::Apart(family) => {
                format!("{}, {family}", self.kind().engine())
            }
            Self::Testpmd(family) => format!("testpmd macswap, {family}"),
            Self::Bare(family) => format!("generator, cable and sink alone, {family}"),
        }
    }

    pub(crate) fn open(self, choice: &Choice, setting: &Setting) -> Result<Box<dyn Device>, Error> {
        let with = |family, cores: &[host::CoreId], apart| Setting {
            cores: cores.to_vec(),
            family,
            apart,
            ..setting.clone()
        };
        match (self, &choice.cores[..]) {
            (Self::Beside(kind, family), cores) => {
                dut::open::open(kind, &with(family, cores, None))
            }
            (Self::Bare(family), cores) => Ok(Box::new(Bare::open(&with(family, cores, None))?)),
            (Self::Apart(family), [first, .., last]) => {
                dut::open::open(self.kind(), &with(family, &[*first], Some(*last)))
            }
            (Self::Testpmd(family), [first, .., last]) => {
                testpmd::open(&with(family, &[*first], None), *last)
            }
            _ => Err("a device apart from its generator needs two cores".into()),
        }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Subject {
    pub(crate) place: Place,
    pub(crate) workers: usize,
    pub(crate) changes: u64,
}

impl Subject {
    /// Of the smallest frames.
    pub(crate) fn case(self) -> Case {
        Case {
            kind: self.place.kind(),
            first: 0,
            workers: self.workers,
            frame_bytes: SMALLEST,
            changes: self.changes,
        }
    }

    /// Those of `cores` that are at work.
    pub(crate) fn cores(self, cores: &[CoreId]) -> &[CoreId] {
        match self.place {
            Place::Beside(..) | Place::Bare(_) => cores.get(self.case().cores()).unwrap_or(cores),
            // The device on the last, its generator on the first.
            Place::Apart(_) | Place::Testpmd(_) => cores,
        }
    }
}

/// A ratio of two subjects and what it must hold.
pub(crate) struct Claim {
    pub(crate) target: Target,
    pub(crate) ours: Subject,
    pub(crate) other: Subject,
    /// What is missing of the ratio to 1 instead of the ratio.
    pub(crate) lost: bool,
    /// What both times of a frame are taken without.
    pub(crate) without: Option<Subject>,
}

impl Claim {
    /// All that it compares.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = Subject> {
        [self.ours, self.other].into_iter().chain(self.without)
    }
}

/// All of them on so many cores.
pub(crate) fn claims(cores: usize) -> Vec<Claim> {
    let at = |place, workers, changes| Subject {
        place,
        workers,
        changes,
    };
    let least = |must, goal| (Some(Limit::AtLeast(must)), Some(Limit::AtLeast(goal)));
    let mut all = Vec::new();
    let mut add = |what: String, ours, other, lost, (must, goal)| {
        all.push(Claim {
            target: Target { what, must, goal },
            ours,
            other,
            lost,
            without: None,
        });
    };
    for kind in [SHIPPED, SHARED, PER_CORE] {
        let place = Place::Beside(kind, Family::Ipv4);
        let name = place.name();
        if cores > 1 {
            // The bounds are for two, with the workers and the table that are shipped.
            let limits = if cores == 2 && kind == SHIPPED {
                least(1.9, 1.97)
            } else {
                (None, None)
            };
            let what = format!("{name}: {cores} workers against one");
            add(what, at(place, cores, 0), at(place, 1, 0), false, limits);
        }
        if kind == SHIPPED {
            continue;
        }
        for changes in [10_000, 100_000, 1_000_000] {
            let limits = match changes {
                100_000 => (Some(Limit::AtMost(0.05)), None),
                1_000_000 => (Some(Limit::AtMost(0.04)), Some(Limit::AtMost(0.02))),
                _ => (None, None),
            };
            let what = format!("{name}: share lost at {changes} route changes/s");
            let (ours, other) = (at(place, cores, changes), at(place, cores, 0));
            add(what, ours, other, true, limits);
        }
    }
    for family in [Family::Ipv4, Family::Ipv6] {
        let beside = |kind, workers| at(Place::Beside(kind, family), workers, 0);
        let xdp = beside(XDP, 1);
        let kernel = match family {
            Family::Ipv4 => least(6.5, 8.0),
            Family::Ipv6 => least(9.6, 12.0),
        };
        for (ours, other, limits) in [
            (XDP, Kind::Kernel, kernel),
            (XDP, KERNEL_FIB, least(2.3, 3.2)),
            (TC, Kind::Kernel, least(1.8, 2.5)),
        ] {
            let what = format!("{} against {}, {family}", ours.engine(), other.engine());
            add(what, beside(ours, 1), beside(other, 1), false, limits);
        }
        if cores > 1 {
            let what = format!("af-xdp against testpmd macswap, {family}");
            let [ours, other] =
                [Place::Apart(family), Place::Testpmd(family)].map(|place| at(place, 1, 0));
            add(what, ours, other, false, least(1.15, 1.3));
        }
        if cores > 1 && family == Family::Ipv4 {
            let what = "xdp against xdp-kernel-fib on two cores, IPv4".to_owned();
            let two = beside(XDP, 2);
            add(what, two, beside(KERNEL_FIB, 2), false, least(2.3, 3.2));
            let what = "xdp: two cores against one, IPv4".to_owned();
            add(what, two, xdp, false, least(1.85, 1.95));
        }
    }
    all.extend([Family::Ipv4, Family::Ipv6].map(|family| {
        let beside = |kind| at(Place::Beside(kind, family), 1, 0);
        Claim {
            target: Target {
                what: format!(
                    "xdp against kernel, {family}, each without generator, cable and sink"
                ),
                must: None,
                goal: None,
            },
            ours: beside(XDP),
            other: beside(Kind::Kernel),
            lost: false,
            without: Some(at(Place::Bare(family), 1, 0)),
        }
    }));
    all
}

#[cfg(test)]
#[path = "../tests/unit/claims.rs"]
mod tests;
