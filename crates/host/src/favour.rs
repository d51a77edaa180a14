//! Threads that are not to be kept waiting by ordinary work on the same core.
//!
//! The highest weight of the fair scheduler (nice -20) and its shortest slice: a thread so favoured
//! takes the core as soon as it wakes and gives ordinary threads about a hundredth of it. What it
//! does not prevent: an ordinary thread that has got the core while the favoured one was ready
//! keeps it for the rest of its slice, 1 to 4 ms.
//!
//! Real-time priority prevents that, and lets a thread that is always busy starve the core's
//! housekeeping; for it the kernel stops such threads for up to 50 ms in every second (sched(7),
//! `sched_rt_runtime_us`; the deadline server of Linux 6.12). So it is for what is over before:
//! [`Urgent`].

use std::time::Duration;
use std::{io, mem};

const FIRST: i32 = -20;
/// Shortest slice that the kernel grants a fair thread, ns (`sched_setattr(2)`, since Linux 6.12;
/// ignored before).
const SLICE_NS: u64 = 100_000;

/// Favours a thread by its id; 0 is the calling one. Kernel threads may be favoured too.
///
/// # Errors
/// Without root, or when there is no such thread.
pub fn favour(thread: libc::pid_t) -> io::Result<()> {
    set(thread, FIRST, SLICE_NS)
}

/// Favours the calling thread until dropped; does nothing where that is not allowed.
#[derive(Debug)]
pub struct Favoured {
    /// What to go back to; it speaks of the thread that made it.
    before: Option<i32>,
    _here: std::marker::PhantomData<*const ()>,
}

impl Favoured {
    /// Favours the calling thread.
    pub fn now() -> Self {
        // SAFETY: 0 is the calling thread; takes and returns integers.
        let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        Self {
            before: favour(0).is_ok().then_some(before),
            _here: std::marker::PhantomData,
        }
    }
}

impl Drop for Favoured {
    fn drop(&mut self) {
        if let Some(nice) = self.before {
            // Giving a privilege up is always allowed.
            let _ = set(0, nice, 0);
        }
    }
}

/// Lets the calling thread and others run before every ordinary one, at the lowest real-time
/// priority, until dropped; then the others are favoured, and the calling thread is what it was.
/// Does nothing where that is not allowed.
#[derive(Debug)]
pub struct Urgent {
    others: Vec<libc::pid_t>,
    /// Dropped last.
    _favoured: Favoured,
}

impl Urgent {
    /// What takes longer than this must not be urgent: the kernel would interrupt it (see above).
    pub const LONGEST: Duration = Duration::from_millis(900);

    /// Makes the calling thread and `others` urgent.
    pub fn now(others: &[libc::pid_t]) -> Self {
        let favoured = Favoured::now();
        let _ = first_in_first_out(0);
        let others = others.iter().copied();
        Self {
            others: others
                .filter(|&thread| first_in_first_out(thread).is_ok())
                .collect(),
            _favoured: favoured,
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        for &thread in &self.others {
            // It may have ended meanwhile.
            let _ = favour(thread);
        }
    }
}

fn first_in_first_out(thread: libc::pid_t) -> io::Result<()> {
    // SAFETY: plain integers, for which zeros are the ordinary policy.
    let mut wanted: libc::sched_attr = unsafe { mem::zeroed() };
    wanted.sched_policy = libc::SCHED_FIFO as u32;
    wanted.sched_priority = 1;
    attribute(thread, wanted)
}

fn set(thread: libc::pid_t, nice: i32, slice_ns: u64) -> io::Result<()> {
    // SAFETY: plain integers, for which zeros are the ordinary policy.
    let mut wanted: libc::sched_attr = unsafe { mem::zeroed() };
    wanted.sched_nice = nice;
    wanted.sched_runtime = slice_ns;
    attribute(thread, wanted)
}

fn attribute(thread: libc::pid_t, mut wanted: libc::sched_attr) -> io::Result<()> {
    wanted.size = mem::size_of::<libc::sched_attr>() as u32;
    // SAFETY: the structure outlives the call, which reads as many bytes as its size says.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const wanted, 0) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nice() -> i32 {
        // SAFETY: 0 is the calling thread.
        unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
    }

    #[test]
    fn a_favour_is_given_back() {
        let before = nice();
        let favoured = Favoured::now();
        if favoured.before.is_some() {
            assert_eq!(nice(), FIRST);
        } else {
            needs::skipped!("needs root to raise a thread's weight");
        }
        drop(favoured);
        assert_eq!(nice(), before);
    }

    #[test]
    fn urgency_is_given_back() {
        // SAFETY: 0 is the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = (policy(), nice());
        let urgent = Urgent::now(&[libc::pid_t::MAX]);
        if policy() != libc::SCHED_FIFO {
            needs::skipped!("needs root for a real-time priority");
        }
        drop(urgent);
        assert_eq!((policy(), nice()), before);
    }

    #[test]
    fn a_thread_that_does_not_exist_is_refused() {
        assert!(favour(libc::pid_t::MAX).is_err());
    }
}
