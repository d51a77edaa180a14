//! A wire in memory: each pair of ports 2k, 2k+1 is joined by a queue. What the engine loses here
//! it would lose anywhere.

use std::collections::VecDeque;

use port::{Burst, Frame, Pool};

use super::{Link, Moved};

/// Frames a queue holds; more are refused, not dropped, as a full transmit ring refuses.
const QUEUE: usize = 1024;

/// Pairs of ports joined by nothing but memory.
#[derive(Debug)]
pub struct Wire {
    queues: Vec<VecDeque<Frame>>,
}

impl Wire {
    /// A wire with `ports` ends, rounded up to an even number.
    pub fn new(ports: u8) -> Self {
        let ends = ports.next_multiple_of(2).max(2);
        Self {
            queues: (0..ends).map(|_| VecDeque::with_capacity(QUEUE)).collect(),
        }
    }
}

impl Link for Wire {
    fn ports(&self) -> u8 {
        self.queues.len() as u8
    }

    fn transmit(&mut self, port: u8, _: &mut Pool, burst: &mut Burst, _: u64) -> Moved {
        let Some(queue) = self.queues.get_mut(usize::from(port ^ 1)) else {
            return Ok(0);
        };
        let count = burst.len().min(QUEUE - queue.len());
        burst.take_front(count, |frame| queue.push_back(frame));
        Ok(count)
    }

    fn receive(&mut self, port: u8, _: &mut Pool, burst: &mut Burst, _: u64) -> Moved {
        let Some(queue) = self.queues.get_mut(usize::from(port)) else {
            return Ok(0);
        };
        let count = burst.room().min(queue.len());
        for frame in queue.drain(..count) {
            let pushed = burst.push(frame);
            debug_assert!(pushed.is_ok(), "count is within the room");
        }
        Ok(count)
    }

    fn describe(&self) -> String {
        "wire in memory".to_owned()
    }
}
