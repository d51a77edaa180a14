//! What every transport must do, whatever lies between the two sides: threads, processes or
//! kernels.
//!
//! One side runs [`mirror`], the other [`exercise`]. The crate's tests do so for each kind of
//! memory; the test of a guest does so with the guest's program as the mirror.

use std::time::{Duration, Instant};

use crate::{Link, LinkError, Memory, Port, Priority};

/// A message to this port is answered with one of each rank, the least urgent first, and a scalar
/// behind them.
const RANKS: Port = Port(0xFF01);
/// A message to this port ends the mirror.
const END: Port = Port(0xFF02);
/// Who exercises.
const EXERCISER: Port = Port(0xFF03);
/// Nothing may take longer between two sides that live.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest packet: a frame of the Ethernet.
const LONGEST: usize = 1_514;
/// What the mirror sends in order, by rank and text.
const SENT: [(Priority, &str); 4] = [
    (Priority::Low, "low"),
    (Priority::Normal, "one"),
    (Priority::Normal, "two"),
    (Priority::Urgent, ""),
];
/// And what must be seen.
const SEEN: [(Priority, &str); 4] = [SENT[3], SENT[1], SENT[2], SENT[0]];

/// What a transport did wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An operation failed that must not.
    #[error("{0}")]
    Link(#[from] LinkError),
    /// The other side did not answer.
    #[error("{what}: nothing came for {} s", PATIENCE.as_secs())]
    Silent {
        /// What was waited for.
        what: &'static str,
    },
    /// Something came, and it was not that.
    #[error("{what}: {found} came, not {wanted}")]
    Wrong {
        /// What was tried.
        what: &'static str,
        /// What came.
        found: String,
        /// What should have.
        wanted: String,
    },
}

/// Sends everything back that comes, each by its kind, until told to end or nothing has come for
/// ten seconds.
///
/// # Errors
/// [`LinkError::Corrupt`].
pub fn mirror<M: Memory>(link: &mut Link<M>) -> Result<(), LinkError> {
    let mut buffer = vec![0; LONGEST];
    // The clock is looked at only when nothing comes: in a guest that costs more than a packet.
    let mut idle = None;
    while idle.is_none_or(|since: Instant| since.elapsed() < PATIENCE) {
        link.beat();
        let mut busy = false;
        if let Some(message) = link.receive_message(&mut buffer)? {
            busy = true;
            match message.to {
                END => return Ok(()),
                RANKS => {
                    for (priority, text) in SENT {
                        link.send_message(RANKS, message.from, priority, text.as_bytes())?;
                    }
                    link.send_scalar(SENT.len() as u64)?;
                }
                _ => {}
            }
        }
        if let Some(length) = link.receive_packet(&mut buffer)? {
            busy = true;
            until_room(|| link.send_packet(&buffer[..length]))?;
        }
        if let Some(value) = link.receive_scalar()? {
            busy = true;
            until_room(|| link.send_scalar(value))?;
        }
        if busy {
            idle = None;
        } else {
            idle.get_or_insert_with(Instant::now);
            std::thread::yield_now();
        }
    }
    Ok(())
}

/// Tries all three kinds of communication in both directions against a [`mirror`], and ends it.
///
/// # Errors
/// The first [`Violation`].
pub fn exercise<M: Memory>(link: &mut Link<M>) -> Result<(), Violation> {
    ranks(link)?;
    packets(link)?;
    scalars(link)?;
    full_ring(link)?;
    link.send_message(EXERCISER, END, Priority::Normal, &[])?;
    Ok(())
}

fn ranks<M: Memory>(link: &mut Link<M>) -> Result<(), Violation> {
    let what = "messages by priority";
    // Not before a normal message that asks the other side to be a mirror: it may be late.
    link.send_message(EXERCISER, RANKS, Priority::Normal, &[])?;
    let count = wait(what, || link.receive_scalar())?;
    equal(what, &count, &(SENT.len() as u64))?;
    let mut buffer = [0; 8];
    for wanted in SEEN {
        let message = wait(what, || link.receive_message(&mut buffer))?;
        let text = String::from_utf8_lossy(&buffer[..message.length]);
        let found = (message.from, message.to, message.priority, text.as_ref());
        equal(what, &found, &(RANKS, EXERCISER, wanted.0, wanted.1))?;
    }
    Ok(())
}

fn packets<M: Memory>(link: &mut Link<M>) -> Result<(), Violation> {
    let what = "packets of all lengths";
    let mut buffer = [0; LONGEST];
    // What the other side had sent before it was a mirror.
    while link.receive_packet(&mut buffer)?.is_some() {}
    for length in (0..=LONGEST).step_by(11).chain([LONGEST]) {
        link.beat();
        let sent = vec![length as u8; length];
        link.send_packet(&sent)?;
        let found = wait(what, || link.receive_packet(&mut buffer))?;
        equal(what, &&buffer[..found], &sent.as_slice())?;
    }
    Ok(())
}

fn scalars<M: Memory>(link: &mut Link<M>) -> Result<(), Violation> {
    let what = "scalars of all widths";
    link.send_scalar(u8::MAX)?;
    link.send_scalar(u16::MAX)?;
    link.send_scalar(u32::MAX)?;
    link.send_scalar(u64::MAX)?;
    for wanted in [0xff, 0xffff, 0xffff_ffff, u64::MAX] {
        equal(what, &wait(what, || link.receive_scalar())?, &wanted)?;
    }
    Ok(())
}

/// A side that does not read stops the other: it is told that the ring is full, and loses nothing.
fn full_ring<M: Memory>(link: &mut Link<M>) -> Result<(), Violation> {
    let what = "a ring that nobody empties";
    link.beat();
    let (mut sent, mut full_since) = (0_u64, None);
    // The mirror takes some until its own ring is full; a moment without room is the end.
    while full_since.is_none_or(|since: Instant| since.elapsed() < Duration::from_millis(20)) {
        match link.send_scalar(sent) {
            Ok(()) => (sent, full_since) = (sent + 1, None),
            Err(LinkError::Full) => {
                full_since.get_or_insert_with(Instant::now);
                std::thread::yield_now();
            }
            Err(error) => return Err(error.into()),
        }
    }
    for wanted in 0..sent {
        equal(what, &wait(what, || link.receive_scalar())?, &wanted)?;
    }
    Ok(())
}

fn wait<T>(
    what: &'static str,
    mut look: impl FnMut() -> Result<Option<T>, LinkError>,
) -> Result<T, Violation> {
    let since = Instant::now();
    loop {
        match look()? {
            Some(found) => return Ok(found),
            None if since.elapsed() > PATIENCE => return Err(Violation::Silent { what }),
            None => std::thread::yield_now(),
        }
    }
}

fn until_room(mut send: impl FnMut() -> Result<(), LinkError>) -> Result<(), LinkError> {
    let mut full = None;
    loop {
        match send() {
            Err(LinkError::Full) if full.get_or_insert_with(Instant::now).elapsed() < PATIENCE => {
                std::thread::yield_now();
            }
            done => return done,
        }
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(
    what: &'static str,
    found: &T,
    wanted: &T,
) -> Result<(), Violation> {
    if found == wanted {
        return Ok(());
    }
    Err(Violation::Wrong {
        what,
        found: format!("{found:?}"),
        wanted: format!("{wanted:?}"),
    })
}
