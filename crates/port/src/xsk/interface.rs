//! Several queues of one interface as one port, for a worker that serves more than one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::detour::Taken;
use super::{Detour, Handed, XskPort};
use crate::{Burst, Pool, Port, PortError};

/// The queues of an interface that one worker serves. Bursts are taken from them by turns; frames
/// leave by the first.
#[derive(Debug)]
pub struct XskInterface {
    name: String,
    queues: Vec<XskPort>,
    /// Which queue is asked first: each in its turn.
    first: usize,
    /// Readable when any queue is; only for more than one.
    any: Option<OwnedFd>,
    detour: Option<Taken>,
}

impl XskInterface {
    /// Puts queues of `name` together, at least one.
    ///
    /// # Errors
    /// [`PortError::System`] when the kernel gives no descriptor to wait for several.
    pub fn new(name: &str, queues: Vec<XskPort>) -> Result<Self, PortError> {
        let any = match queues.len() {
            0 => Err(io::Error::from(io::ErrorKind::InvalidInput)),
            1 => Ok(None),
            _ => watch(&queues).map(Some),
        };
        let any = any.map_err(|source| PortError::System {
            name: name.to_owned(),
            action: "wait for several queues",
            source,
        })?;
        Ok(Self {
            name: name.to_owned(),
            queues,
            first: 0,
            any,
            detour: None,
        })
    }

    /// With another way out for whole bursts, which the interface must not have zero copy for.
    #[must_use]
    pub fn with_detour(mut self, detour: impl Detour + 'static) -> Self {
        self.detour = Some(Taken::new(detour));
        self
    }

    /// Do the drivers of all queues work on our memory, without a copy by the kernel?
    pub fn is_zero_copy(&self) -> bool {
        self.queues.iter().all(XskPort::is_zero_copy)
    }

    /// Do our own calls drive the driver's receive loop on every queue, as the kernel sees it?
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn is_busy_polling(&self) -> Result<bool, PortError> {
        self.queues
            .iter()
            .try_fold(true, |all, queue| Ok(all && queue.is_busy_polling()?))
    }
}

fn watch(queues: &[XskPort]) -> io::Result<OwnedFd> {
    let any = epoll::create(CreateFlags::CLOEXEC)?;
    for queue in queues {
        epoll::add(&any, queue, EventData::new_u64(0), EventFlags::IN)?;
    }
    Ok(any)
}

impl Port for XskInterface {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let mut count = 0;
        let (before, from) = self.queues.split_at_mut(self.first);
        for queue in from.iter_mut().chain(before) {
            count += queue.receive(pool, burst)?;
        }
        self.first = (self.first + 1) % self.queues.len();
        Ok(count)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let Some(queue) = self.queues.first_mut() else {
            return Ok(0);
        };
        if let Some(detour) = &mut self.detour
            && detour.suits(pool, burst)
            && queue.is_drained()
        {
            return detour.transmit(pool, burst, queue);
        }
        queue.transmit(pool, burst)
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        let only = self.queues.first().and_then(XskPort::readable);
        self.any.as_ref().map(AsFd::as_fd).or(only)
    }

    fn handed(&self) -> io::Result<Vec<Handed>> {
        let handed = self.queues.iter().map(XskPort::hand_over);
        handed.collect()
    }

    fn go_on(&mut self) {
        self.queues.iter_mut().for_each(XskPort::work_on);
    }

    fn missed(&mut self) -> u64 {
        self.queues.iter_mut().map(XskPort::missed).sum()
    }
}
