//! Devices with known answers, for the tests of the searches. `scripts/mlrsearch-oracle` has the
//! same in Python.

use figures::Random;

/// Forwards up to a knee; above it loses the excess; may lose single frames for no reason of load.
pub(crate) struct Knee {
    carries: f64,
    rare: f64,
    fog: f64,
    random: Random,
}

/// What a simulated trial counted.
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) lost: u64,
}

impl Counts {
    /// Lost frames as a share of those sent.
    pub(crate) fn loss_ratio(&self) -> f64 {
        self.lost as f64 / self.sent as f64
    }
}

impl Knee {
    pub(crate) fn new(knee: f64, seed: u64) -> Self {
        Self {
            carries: knee,
            rare: 0.0,
            fog: 0.0,
            random: Random::new(seed),
        }
    }

    /// Loses one frame in this share of the trials, at any load.
    pub(crate) fn rare_loss(mut self, share: f64) -> Self {
        self.rare = share;
        self
    }

    /// Lets the knee wander from trial to trial within this share of itself.
    pub(crate) fn fog(mut self, share: f64) -> Self {
        self.fog = share;
        self
    }

    /// One trial of `duration` seconds at `rate` frames per second.
    pub(crate) fn trial(&mut self, rate: f64, duration: f64) -> Counts {
        let sent = (rate * duration).round().max(1.0) as u64;
        let unlucky = u64::from(self.random.unit() < self.rare);
        let knee = self.carries * (1.0 + self.fog * (self.random.unit() - 0.5));
        let carried = (knee * duration).floor() as u64;
        Counts {
            sent,
            lost: sent.saturating_sub(carried).max(unlucky),
        }
    }
}
