//! What a bisection asks for, and what it finds.

/// Why a trial is run; longer trials are wanted for the final answer (RFC 2544 §24).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Narrowing the bounds: the trial may be short.
    Search,
    /// Confirming the answer: the trial must have its full length.
    Confirm,
}

/// One trial that the search asks for, with the bounds as they stand (for a progress display).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe<A> {
    /// The amount to try.
    pub amount: A,
    /// Whether this narrows the bounds or confirms the answer.
    pub phase: Phase,
    /// Largest amount that passed so far; [`Amount::zero`](crate::search::Amount::zero) when none has.
    pub low: A,
    /// Smallest amount that failed so far, or the upper end of the range.
    pub high: A,
}

/// What one trial showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrialOutcome<A> {
    /// The device carried the amount without loss.
    Pass,
    /// The device lost frames. A forwarding rate seen, if known, lets a search with
    /// [`follow_hints`](super::Bisection::follow_hints) jump there.
    Fail {
        /// What the device did carry in that trial; zero when nothing came at all.
        carried: Option<A>,
    },
    /// The tester could not offer the amount (or could not trust what it saw): says nothing about
    /// the device.
    Invalid {
        /// What the tester did offer, if that is known: with `follow_hints` the next amount
        /// to try.
        offered: Option<A>,
    },
    /// Give up now and keep what is known (interrupt, port gone).
    Stop,
}

/// One trial as the search saw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<A> {
    /// What was asked.
    pub probe: Probe<A>,
    /// What came of it.
    pub outcome: TrialOutcome<A>,
}

/// What holds the answer down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The device failed at the upper bound.
    Device,
    /// The upper end of the range passed: the device may do more.
    Range,
    /// The tester could not offer the upper bound: the device may do more.
    Tester,
}

/// How the search came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Bounds within the resolution, answer confirmed.
    Converged,
    /// Bounds within the resolution, but the answer failed its confirmation as often as allowed.
    Unconfirmed,
    /// No amount of the range passed.
    NothingPassed,
    /// The closure said [`TrialOutcome::Stop`].
    Stopped,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<A> {
    /// Largest amount that passed (and was confirmed when `ended` is [`Ended::Converged`]).
    pub lower: Option<A>,
    /// Smallest amount that did not pass; `None` when the whole range passed.
    pub upper: Option<A>,
    /// What holds the answer down.
    pub limit: Limit,
    /// How the search ended.
    pub ended: Ended,
    /// Every trial in order.
    pub steps: Vec<Step<A>>,
}
