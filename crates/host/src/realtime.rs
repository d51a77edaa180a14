//! Real-time priority for the calling thread, given back when the guard is dropped.

use std::io;
use std::marker::PhantomData;

use crate::favour::{Rank, rank};

/// The system refused a real-time priority.
#[derive(Debug, thiserror::Error)]
#[error(
    "no real-time priority here ({source}): the figures are those of a normal thread; run as root \
     or raise RLIMIT_RTPRIO (`ulimit -r`)"
)]
pub struct Refused {
    /// What the kernel said.
    #[from]
    pub source: io::Error,
}

/// The first-in-first-out policy of the thread that made it; dropping it makes the thread a normal
/// one again.
///
/// It cannot be sent to another thread, for it speaks of this one.
#[derive(Debug)]
pub struct RealTime {
    of_this_thread: PhantomData<*const ()>,
}

impl RealTime {
    /// Gives the calling thread the first-in-first-out policy with `priority` (1, the lowest, to
    /// 99; sched(7)).
    ///
    /// # Errors
    /// When the system refuses: neither root nor a limit on real-time priority as high as that.
    pub fn first_in_first_out(priority: u32) -> Result<Self, Refused> {
        rank(0, Rank::First(priority))?;
        Ok(Self {
            of_this_thread: PhantomData,
        })
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        // Giving a priority up is always allowed.
        let _ = rank(0, Rank::Normal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: 0 is the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_priority_is_given_back_and_a_refusal_names_the_remedy() {
        match RealTime::first_in_first_out(1) {
            Ok(priority) => {
                assert_eq!(policy(), libc::SCHED_FIFO);
                drop(priority);
            }
            Err(refused) => assert!(refused.to_string().contains("RLIMIT_RTPRIO")),
        }
        assert_eq!(policy(), libc::SCHED_OTHER);
    }

    #[test]
    fn a_priority_that_does_not_exist_is_refused() {
        assert!(RealTime::first_in_first_out(1000).is_err());
    }
}
