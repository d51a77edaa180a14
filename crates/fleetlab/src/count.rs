//! From frames to figures: plain values, no clock, no I/O.

/// A frame of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When it was sent, ns.
    pub at: u64,
    /// How it came; `None` when it did not.
    pub came: Option<Arrival>,
}

/// How a frame came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// By this node.
    pub by: u8,
    /// When, ns.
    pub at: u64,
}

impl Frame {
    /// The node by which it came.
    pub fn by(&self) -> Option<u8> {
        self.came.map(|came| came.by)
    }
}

/// What an event did to the flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Frames sent.
    pub sent: u64,
    /// Of these, the ones that never came.
    pub lost: u64,
    /// The longest time without a frame of a flow, ns: from the first lost one to the next that came.
    /// It is as exact as the time between two frames of a flow. 0 when none was lost.
    pub outage: u64,
    /// Flows that came by another node than before, once or more often.
    pub moved: u64,
    /// Of these, flows that moved although neither node was the event's.
    pub needlessly: u64,
    /// Frames that came after one of their flow with a higher number (RFC 4737, section 3).
    pub reordered: u64,
    /// When all was well again, ns: the latest first frame of a flow that came after its last lost
    /// one. `None` when none was lost, and when a flow's last frame was.
    pub healed: Option<u64>,
}

/// Counts over flows, each in the order in which its frames were sent. Moves count from `event` on,
/// ns, of which `node` is the one.
pub fn figures(flows: &[Vec<Frame>], event: u64, node: u8) -> Figures {
    let mut sum = Figures::default();
    for flow in flows {
        sum.sent += flow.len() as u64;
        sum.lost += flow.iter().filter(|frame| frame.came.is_none()).count() as u64;
        sum.reordered += reordered(flow);
        sum.outage = sum.outage.max(longest_outage(flow));
        let (mut moved, mut needlessly) = (false, false);
        for (from, to) in moves(flow, event) {
            moved = true;
            needlessly |= from != node && to != node;
        }
        sum.moved += u64::from(moved);
        sum.needlessly += u64::from(needlessly);
    }
    sum.healed = healed(flows);
    sum
}

/// When the latest flow's first frame after its last lost one was sent; none when a flow has no such
/// frame.
fn healed(flows: &[Vec<Frame>]) -> Option<u64> {
    let last = |flow: &Vec<Frame>| flow.iter().rposition(|frame| frame.came.is_none());
    let lossy = flows.iter().filter_map(|flow| Some((flow, last(flow)?)));
    let moments = lossy.map(|(flow, last)| flow.get(last + 1).map(|frame| frame.at));
    let moments: Option<Vec<u64>> = moments.collect();
    moments?.into_iter().max()
}

fn reordered(flow: &[Frame]) -> u64 {
    let came = (0_u64..).zip(flow);
    let came = came.filter_map(|(number, frame)| Some((frame.came?.at, number)));
    let mut came: Vec<(u64, u64)> = came.collect();
    came.sort_unstable();
    let (mut highest, mut count) = (0, 0);
    for (_, number) in came {
        count += u64::from(number < highest);
        highest = highest.max(number);
    }
    count
}

/// An outage that is not over with the last frame ends there.
fn longest_outage(flow: &[Frame]) -> u64 {
    let (mut longest, mut since) = (0, None);
    for frame in flow {
        let first: u64 = *since.get_or_insert(frame.at);
        longest = longest.max(frame.at - first);
        if frame.came.is_some() {
            since = None;
        }
    }
    longest
}

/// From which node to which a flow moved.
fn moves(flow: &[Frame], event: u64) -> impl Iterator<Item = (u8, u8)> {
    let came = flow
        .iter()
        .filter_map(|frame| Some((frame.at, frame.by()?)));
    let next = came.clone().skip(1);
    came.zip(next)
        .filter(move |&((_, from), (at, to))| from != to && at >= event)
        .map(|((_, from), (_, to))| (from, to))
}

/// The nodes by which frames came.
pub fn carriers(flows: &[Vec<Frame>]) -> std::collections::BTreeSet<u8> {
    flows.iter().flatten().filter_map(Frame::by).collect()
}

#[cfg(test)]
#[path = "../tests/unit/count.rs"]
mod tests;
