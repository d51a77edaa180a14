//! When a recording is made without being asked for: judged each second, by what that second was.

use std::collections::{BTreeMap, BTreeSet};

use fastpath::forward::Reason;

use crate::management_plane::config::Recorder;
use crate::management_plane::recording::Why;

/// A router that forwards fewer frames a second carries no traffic that could stall.
const TRAFFIC: f64 = 100.0;

/// What was counted in a second, or in the time that its figures are of.
#[derive(Debug, Default)]
pub(crate) struct Second {
    /// How long it was.
    pub(crate) seconds: f64,
    pub(crate) received: u64,
    pub(crate) forwarded: u64,
    /// Frames by reason.
    pub(crate) left: BTreeMap<&'static str, u64>,
    /// Whether the latest comparison with the kernel found no difference.
    pub(crate) equal: Option<bool>,
}

/// What was so already.
#[derive(Debug, Default)]
pub(super) struct Triggers {
    above: BTreeSet<Reason>,
    /// Frames received in a second, when some were forwarded last.
    carried: Option<f64>,
    /// For so many seconds frames have come, and none was forwarded.
    stalled: f64,
    different: bool,
}

impl Triggers {
    /// Why a recording is made now: all that begins in this second. Each cause is told when it begins.
    pub(super) fn judge(&mut self, config: &Recorder, second: &Second) -> Vec<Why> {
        let mut whys = self.above(config, second);
        whys.extend(self.stall(config, second));
        whys.extend(self.different(config, second));
        whys
    }

    fn above(&mut self, config: &Recorder, second: &Second) -> Vec<Why> {
        let mut whys = Vec::new();
        for (reason, limit) in &config.above.0 {
            let frames = second.left.get(reason.name()).copied().unwrap_or(0);
            let rate = frames as f64 / second.seconds;
            if rate <= f64::from(*limit) {
                self.above.remove(reason);
            } else if self.above.insert(*reason) {
                let name = reason.name();
                whys.push(Why {
                    trigger: "above",
                    said: format!("{name}: {rate:.0} frames a second, above {limit}"),
                });
            }
        }
        whys
    }

    fn stall(&mut self, config: &Recorder, second: &Second) -> Option<Why> {
        let received = second.received as f64 / second.seconds;
        if second.forwarded > 0 {
            let carries = second.forwarded as f64 / second.seconds >= TRAFFIC;
            self.carried = carries.then_some(received);
            self.stalled = 0.0;
            return None;
        }
        // Traffic that has ended is no stall.
        let before = self.carried.filter(|before| received >= before / 2.0)?;
        let longest = f64::from(config.stall_seconds);
        let was = self.stalled;
        self.stalled += second.seconds;
        let begins = was < longest && self.stalled >= longest && longest > 0.0;
        begins.then(|| Why {
            trigger: "stall",
            said: format!(
                "{received:.0} frames a second come, and none is forwarded for {:.0} s; {before:.0} \
                 came when some were",
                self.stalled
            ),
        })
    }

    fn different(&mut self, config: &Recorder, second: &Second) -> Option<Why> {
        let was = std::mem::replace(&mut self.different, second.equal == Some(false));
        (self.different && !was && config.different).then(|| Why {
            trigger: "different",
            said: "the tables differ from the kernel's: corelane verify".to_owned(),
        })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/triggers.rs"]
mod tests;
