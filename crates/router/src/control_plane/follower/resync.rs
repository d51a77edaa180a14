//! The kernel's tables read for the first time, and again ([`crate::control_plane::reread`]).

use std::io;
use std::time::Instant;

use super::{BATCH, Follower, INTERRUPTED, LOST, READING, UNVOUCHED};
use crate::control_plane::mirror::Swept;
use crate::control_plane::reread::{Progress, Reread};
use crate::log::{self, log};

impl Follower {
    /// Reads the kernel's tables for the first time.
    pub(super) fn read_all(&mut self) -> io::Result<()> {
        let mut reread = Reread::begin("start", &mut self.mirror)?;
        loop {
            match reread.wait(&mut self.mirror)? {
                Progress::Under => self.flush_from(BATCH),
                Progress::Done(swept) => {
                    self.health.swept = swept;
                    break;
                }
                // Something may be missing that nobody will announce.
                Progress::Interrupted => {
                    (self.lost, self.resync_wanted) = (true, Some(INTERRUPTED));
                    break;
                }
            }
        }
        self.health.messages += reread.events;
        self.synced = Instant::now();
        self.flush();
        Ok(())
    }

    /// The kernel's tables are to be read again, for this reason.
    pub fn want_resync(&mut self, reason: &'static str) {
        self.resync_wanted = Some(reason);
    }

    /// Are the kernel's tables being read again?
    pub fn is_resyncing(&self) -> bool {
        self.reread.is_some()
    }

    /// Begins to read the kernel's tables again. One that is under way is begun again: it may have
    /// missed what this one is about.
    pub fn begin_resync(&mut self, reason: &'static str) {
        self.follow();
        self.resync_wanted = None;
        self.suspected = None;
        match Reread::begin(reason, &mut self.mirror) {
            Ok(reread) => self.reread = Some(reread),
            Err(error) => self.fail_resync(reason, &error),
        }
        // What the kernel's own tables say is the answer to the suspicion, not a new one.
        self.suspicions = self.mirror.suspicions();
        self.flush();
    }

    /// Does the next piece of a re-read that is under way, if there is one yet: at most one buffer
    /// of the kernel's, or the sweep of one part of the tables.
    pub fn advance_resync(&mut self) {
        let Some(mut reread) = self.reread.take() else {
            return;
        };
        let before = reread.events;
        let progress = reread.advance(&mut self.mirror);
        self.health.messages += reread.events - before;
        self.suspicions = self.mirror.suspicions();
        self.flush();
        match progress {
            Ok(Progress::Under) => self.reread = Some(reread),
            Ok(progress) => self.end_resync(&reread, progress),
            Err(error) => self.fail_resync(reread.reason, &error),
        }
    }

    /// What has been read so far holds, and nothing else is removed. It is tried again.
    fn fail_resync(&mut self, reason: &'static str, error: &io::Error) {
        self.reread = None;
        self.mirror.give_up_round();
        self.resync_wanted.get_or_insert(reason);
        let result = if self.lost {
            UNVOUCHED
        } else {
            "it is tried again; forwarding and following go on"
        };
        self.health.troubles.add(READING, error, result);
    }

    fn end_resync(&mut self, reread: &Reread, progress: Progress) {
        let (reason, seconds) = (reread.reason, reread.began.elapsed());
        self.synced = Instant::now();
        self.health.resyncs += 1;
        self.health.resync = seconds;
        self.health.troubles.over(READING);
        if let Progress::Done(swept) = progress {
            self.health.swept = swept;
            self.lost = false;
        } else {
            self.suspected = Some(Instant::now());
            if self.lost {
                self.resync_wanted = Some(LOST);
            }
        }
        let Swept { routes, others } = self.health.swept;
        log!(
            log::Level::Info,
            "resync",
            reason,
            whole = matches!(progress, Progress::Done(_)),
            routes_swept = routes,
            others_swept = others,
            seconds = seconds.as_secs_f64()
        );
    }
}
