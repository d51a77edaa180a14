//! A rig that says of every trial where its frames were lost.

use host::Namespace;

use super::{Counters, Seen, divide, untaken};
use crate::rig::{Event, Result, Rig};
use crate::trial::{Order, Trial};
use crate::veth::{End, Testbed};

/// What a device dropped since it was started, by reason.
pub type Reasons = Box<dyn Fn() -> Vec<(String, u64)>>;

/// Counters of a device that nobody sees, as somebody else reads them; `None` when that failed.
pub type Told = Box<dyn Fn() -> Option<Vec<(String, u64)>>>;

/// The interfaces on the way of the frames, and who says why the device drops.
pub struct Way {
    /// The tester's.
    ends: Vec<End>,
    /// The device's, and its reasons; `None` where nobody sees it.
    device: Option<(Namespace, Vec<String>, Reasons)>,
    /// Who is asked before each trial and after those that lost frames.
    told: Option<Told>,
}

impl Way {
    /// Through a device in a namespace of our own.
    pub fn through(testbed: &Testbed, reasons: Reasons) -> Self {
        let device = (testbed.device.clone(), testbed.ports.clone(), reasons);
        Self {
            ends: testbed.ends.clone(),
            device: Some(device),
            told: None,
        }
    }

    /// Into a device that nobody sees, but perhaps somebody tells of.
    pub fn into(ends: &[End], told: Option<Told>) -> Self {
        Self {
            ends: ends.to_vec(),
            device: None,
            told,
        }
    }

    /// What is told of the device now.
    fn told(&self) -> Option<Vec<(String, u64)>> {
        self.told.as_ref().and_then(|told| told())
    }

    /// The counters of the tester's interfaces, and of the device's.
    fn read(&self) -> Result<[Option<Counters>; 2]> {
        let ends = self.ends.iter();
        let ends = ends.map(|end| Counters::read(end.namespace.as_ref(), &end.interface));
        let device = self.device.iter().flat_map(|(namespace, ports, _)| {
            let read = move |port: &String| Counters::read(Some(namespace), port);
            ports.iter().map(read)
        });
        Ok([sum(ends)?, sum(device)?])
    }

    fn reasons(&self) -> Option<Vec<(String, u64)>> {
        self.device.as_ref().map(|(.., reasons)| reasons())
    }
}

/// All of them together; `None` where one does not tell.
fn sum(mut all: impl Iterator<Item = Result<Option<Counters>>>) -> Result<Option<Counters>> {
    all.try_fold(Some(Counters::default()), |sum, one| {
        Ok(sum.zip(one?).map(|(sum, one)| sum + one))
    })
}

/// A rig, and the way of its frames.
pub struct Placing<R> {
    rig: R,
    way: Way,
    /// As last read: they are asked for only when frames were lost in the device.
    reasons: Option<Vec<(String, u64)>>,
}

impl<R: Rig> Placing<R> {
    /// Has the trials of a rig say where their frames were lost.
    pub fn new(rig: R, way: Way) -> Self {
        let reasons = way.reasons();
        Self { rig, way, reasons }
    }

    /// What the reasons rose by since they were last read.
    fn risen(&mut self) -> Option<Vec<(String, u64)>> {
        let before = std::mem::replace(&mut self.reasons, self.way.reasons()).unwrap_or_default();
        let reasons = self.reasons.as_ref();
        reasons.map(|now| rises(&before, now))
    }
}

/// What counters rose by from one reading to the next.
fn rises(before: &[(String, u64)], now: &[(String, u64)]) -> Vec<(String, u64)> {
    let rise = |(name, now): &(String, u64)| {
        let known = before.iter().find(|(known, _)| known == name);
        // A device that was started anew counts from nothing.
        let frames = now.checked_sub(known.map_or(0, |(_, frames)| *frames));
        (name.clone(), frames.unwrap_or(*now))
    };
    now.iter().map(rise).collect()
}

impl<R: Rig> Rig for Placing<R> {
    fn run(&mut self, order: &Order, purpose: &str, event: Option<Event<'_>>) -> Result<Trial> {
        let before = self.way.read()?;
        let told_before = self.way.told();
        let mut trial = self.rig.run(order, purpose, event)?;
        if trial.counts.lost > 0 {
            let after = self.way.read()?;
            let [ends, device] = [0, 1].map(|side| {
                let readings = before[side].zip(after[side]);
                readings.map(|(before, after)| after - before)
            });
            // Only both readings say what happened between them.
            let told = told_before.zip(self.way.told());
            let told = told.map(|(before, now)| rises(&before, &now));
            let untaken = ends.map_or(0, |ends| untaken(&trial.counts, &ends));
            let (ends, device) = (ends.unwrap_or_default(), device.unwrap_or_default());
            let seen = Seen {
                untaken,
                into_device: ends.transmit_drops + device.receive_drops,
                out_of_device: device.transmit_drops,
                told: told.unwrap_or_default(),
            };
            trial.lost_at = divide(&trial.counts, seen, || self.risen());
        }
        Ok(trial)
    }

    fn describe(&self) -> String {
        self.rig.describe()
    }

    fn line_rate(&self) -> Option<f64> {
        self.rig.line_rate()
    }

    fn ceiling(&self) -> f64 {
        self.rig.ceiling()
    }
}
