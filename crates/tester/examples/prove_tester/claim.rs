//! A known answer, and what the tester found.

/// How far a figure may be off.
#[derive(Clone, Copy)]
pub(crate) struct Within {
    /// As a share of the truth.
    pub(crate) share: f64,
    /// Beyond that, in the figure's unit.
    pub(crate) more: f64,
}

/// A rate, frames/s.
pub(crate) const RATE: Within = Within {
    share: 0.01,
    more: 0.0,
};
/// A delay, ns.
pub(crate) const DELAY: Within = Within {
    share: 0.01,
    more: 5_000.0,
};
/// A buffer, frames.
pub(crate) const BUFFER: Within = Within {
    share: 0.05,
    more: 0.0,
};

/// One figure of one device.
pub(crate) struct Claim {
    /// What was measured, with its unit.
    pub(crate) what: &'static str,
    /// What the device was told.
    pub(crate) asked: String,
    /// What a tester without error would find.
    pub(crate) truth: f64,
    /// What was found; the reason where nothing was.
    pub(crate) found: Result<f64, String>,
    /// How far that may be off.
    pub(crate) within: Within,
}

impl Claim {
    /// Whether the tester is right.
    pub(crate) fn held(&self) -> bool {
        let most = self.truth * self.within.share + self.within.more;
        let found = self.found.as_ref();
        found.is_ok_and(|found| (found - self.truth).abs() <= most)
    }
}
