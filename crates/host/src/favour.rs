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

use std::marker::PhantomData;
use std::time::Duration;
use std::{io, mem};

use rustix::process::getpriority_process;

use crate::process;

/// Highest weight of the fair scheduler.
const HIGHEST: i32 = -20;
/// Shortest slice that the kernel grants a fair thread, ns (`sched_setattr(2)`, since Linux 6.12;
/// ignored before).
const SLICE_NS: u64 = 100_000;

/// Who comes first on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Takes turns with the others, with the weight that it has.
    Normal,
    /// The highest weight and the shortest slice.
    Favoured,
    /// The first-in-first-out policy with this priority, 1 to 99 (sched(7)): before all others.
    First(u32),
}

/// Gives a thread, also one of the kernel's, a rank; 0 is the calling one.
///
/// # Errors
/// Without root, or when there is no such thread or priority.
pub fn rank(thread: u32, rank: Rank) -> io::Result<()> {
    match rank {
        Rank::Normal => set(thread, libc::SCHED_OTHER, 0, weight(thread)?, 0),
        Rank::Favoured => set(thread, libc::SCHED_OTHER, 0, HIGHEST, SLICE_NS),
        Rank::First(priority) => set(thread, libc::SCHED_FIFO, priority, 0, 0),
    }
}

fn weight(thread: u32) -> io::Result<i32> {
    Ok(getpriority_process(process::pid(thread))?)
}

fn set(thread: u32, policy: i32, priority: u32, nice: i32, slice_ns: u64) -> io::Result<()> {
    // SAFETY: plain integers, for which zeros are the ordinary policy.
    let mut wanted: libc::sched_attr = unsafe { mem::zeroed() };
    wanted.size = mem::size_of::<libc::sched_attr>() as u32;
    wanted.sched_policy = policy.cast_unsigned();
    wanted.sched_priority = priority;
    wanted.sched_nice = nice;
    wanted.sched_runtime = slice_ns;
    // SAFETY: the structure outlives the call, which reads as many bytes as its size says.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const wanted, 0) };
    process::checked(done).map(drop)
}

/// The rank of the thread that made it; dropping it makes the thread a normal one of its former
/// weight again. It cannot be sent to another thread, for it speaks of this one.
#[derive(Debug)]
struct Ranked {
    weight: i32,
    _here: PhantomData<*const ()>,
}

impl Ranked {
    fn new(wanted: Rank) -> io::Result<Self> {
        let weight = weight(0)?;
        rank(0, wanted)?;
        Ok(Self {
            weight,
            _here: PhantomData,
        })
    }
}

impl Drop for Ranked {
    fn drop(&mut self) {
        // Giving a privilege up is always allowed.
        let _ = set(0, libc::SCHED_OTHER, 0, self.weight, 0);
    }
}

/// Favours the calling thread until dropped; does nothing where that is not allowed.
#[derive(Debug)]
pub struct Favoured {
    _rank: Option<Ranked>,
}

impl Favoured {
    /// Favours the calling thread.
    pub fn now() -> Self {
        Self {
            _rank: Ranked::new(Rank::Favoured).ok(),
        }
    }
}

/// The system refused a real-time priority.
#[derive(Debug, thiserror::Error)]
#[error(
    "no real-time priority here ({0}): the figures are those of a normal thread; run as root or \
     raise RLIMIT_RTPRIO (`ulimit -r`)"
)]
pub struct Refused(#[from] io::Error);

/// The first-in-first-out policy of the thread that made it, until dropped.
#[derive(Debug)]
pub struct RealTime {
    _rank: Ranked,
}

impl RealTime {
    /// Gives the calling thread the first-in-first-out policy with `priority` (1, the lowest, to
    /// 99; sched(7)).
    ///
    /// # Errors
    /// When the system refuses: neither root nor a limit on real-time priority as high as that.
    pub fn first_in_first_out(priority: u32) -> Result<Self, Refused> {
        Ok(Self {
            _rank: Ranked::new(Rank::First(priority))?,
        })
    }
}

/// Lets the calling thread and others run before every ordinary one, at the lowest real-time
/// priority, until dropped; then the others are favoured, and the calling thread is what it was.
/// Does nothing where that is not allowed.
#[derive(Debug)]
pub struct Urgent {
    others: Vec<u32>,
    /// Dropped last.
    _favoured: Favoured,
}

impl Urgent {
    /// What takes longer than this must not be urgent: the kernel would interrupt it (see above).
    pub const LONGEST: Duration = Duration::from_millis(900);

    /// Makes the calling thread and `others` urgent.
    pub fn now(others: &[u32]) -> Self {
        let favoured = Favoured::now();
        let _ = rank(0, Rank::First(1));
        let others = others.iter().copied();
        Self {
            others: others
                .filter(|&thread| rank(thread, Rank::First(1)).is_ok())
                .collect(),
            _favoured: favoured,
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        for &thread in &self.others {
            // It may have ended meanwhile.
            let _ = rank(thread, Rank::Favoured);
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/favour.rs"]
mod tests;
