//! This process takes the ports of another over ([`crate::take_over`]), or leaves its own.

use std::io;
use std::time::{Duration, Instant};

use super::Instance;
use crate::log::{Level, log};
use crate::take_over::{Kept, Taking, keep};

/// How long the kernel's announcements may keep this process from being up to date.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end of the old process may take, once it has nothing left to say.
const ENDING: Duration = Duration::from_millis(300);
/// Between two looks at them.
const PAUSE: Duration = Duration::from_millis(2);

impl Instance {
    /// The ports run our programs from now on, and the old process has ended, or nearly.
    ///
    /// # Errors
    /// When the answers are not the kernel's, and when the old process keeps its ports. It goes on
    /// then.
    pub(super) fn take_over(&mut self, mut taking: Taking) -> io::Result<()> {
        self.compare()?;
        self.catch_up()?;
        taking.swap(self.follower.engine_mut())?;
        self.readiness.set_draining(taking.is_draining());
        let process = taking.process();
        log!(Level::Info, "take-over", from = process, result = "done");
        taking.wait_for_end();
        self.listen_in_its_place();
        Ok(())
    }

    /// The ports run our programs from now on; the service manager has kept their links.
    ///
    /// # Errors
    /// When the answers are not the kernel's, and when a link is not to be had. The kernel forwards
    /// then.
    pub(super) fn take_up(&mut self, kept: Kept) -> io::Result<()> {
        self.compare()?;
        self.catch_up()?;
        let Some(forwarder) = self.follower.forwarder_mut() else {
            return Err(io::Error::other("taking over: the engine has no programs"));
        };
        let ports = kept.swap(forwarder)?;
        let from = "the service manager";
        log!(Level::Info, "take-over", from, ports, result = "done");
        Ok(())
    }

    /// This process ends, and the service manager may start another.
    pub(super) fn leave_to_manager(&mut self) {
        if self.gone || self.config.engine.has_workers() {
            return;
        }
        let engine = self.follower.engine().name();
        if let Some(forwarder) = self.follower.forwarder_mut()
            && let Err(error) = keep(engine, forwarder, &self.config.run_directory)
        {
            log!(Level::Warning, "take-over", error);
        }
    }

    /// Answers where the old process did, whose last word may come a moment before its end. What
    /// cannot be had by then is tried again later.
    fn listen_in_its_place(&mut self) {
        let end = Instant::now() + ENDING;
        while !self.unserved.is_empty() && Instant::now() < end {
            let server = &mut self.server;
            self.unserved.retain(|place| server.listen(place).is_err());
            std::thread::sleep(PAUSE);
        }
    }

    fn compare(&mut self) -> io::Result<()> {
        if !self.follower.engine().keeps_table() {
            return Ok(());
        }
        let different = self.follower.verify()?.different;
        if different == 0 {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "taking over: {different} answers of the new table are not the kernel's, nothing has \
             changed; try again, and see corelane verify"
        )))
    }

    /// Takes in what was announced meanwhile, and vouches for the routes.
    fn catch_up(&mut self) -> io::Result<()> {
        let end = Instant::now() + PATIENCE;
        self.vouching.set_bound(self.config.stale.0);
        while !self.follower.is_current() {
            let now = Instant::now();
            if now >= end {
                return Err(io::Error::other(format!(
                    "taking over: the kernel's tables have changed too fast for {} s, nothing has \
                     changed; try again",
                    PATIENCE.as_secs()
                )));
            }
            std::thread::sleep(PAUSE);
            self.follower.follow();
            self.follower.tick(now);
        }
        self.vouch();
        Ok(())
    }
}
