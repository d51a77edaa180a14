//! Programs that are loaded before their port is attached, by a thread: the verifier takes a good
//! part of a second, in which whoever attaches could not follow the kernel.

use std::thread::JoinHandle;

use bpf::attach::{Mode, Request};
use bpf::program::Program;

use super::{Forwarder, Target};

/// A program for an interface at a port's place.
#[derive(Debug)]
pub(super) struct Ahead {
    ifindex: u32,
    number: usize,
    thread: JoinHandle<bpf::Result<Program>>,
}

impl Forwarder {
    /// Would [`Forwarder::attach_at`] find the program of this interface loaded? If not, a thread
    /// begins to load it; ask again.
    pub fn is_loaded(&mut self, ifindex: u32, request: Request) -> bool {
        if request == Request::Generic || matches!(self.target, Target::Copies { .. }) {
            return true;
        }
        let number = self.next_number();
        if let Some(ahead) = &self.ahead {
            let is_this = (ahead.ifindex, ahead.number) == (ifindex, number);
            if is_this || !ahead.thread.is_finished() {
                return is_this && ahead.thread.is_finished();
            }
        }
        let load = self.load_for(number, Mode::Native, self.tellers.native(ifindex));
        let maps = self.maps.clone();
        let thread = std::thread::Builder::new().name("load".to_owned());
        let thread = thread.spawn(move || load.load(&maps)?.program("forward"));
        let Ok(thread) = thread else {
            return true;
        };
        self.ahead = Some(Ahead {
            ifindex,
            number,
            thread,
        });
        false
    }

    /// The program for an interface at this place, if a thread loads it or has.
    pub(super) fn loaded(&mut self, ifindex: u32, number: usize) -> Option<bpf::Result<Program>> {
        let wanted = (ifindex, number);
        let ahead = self
            .ahead
            .take_if(|ahead| (ahead.ifindex, ahead.number) == wanted)?;
        ahead.thread.join().ok()
    }

    /// The place of the next port.
    pub(super) fn next_number(&self) -> usize {
        let free = self.ports.iter().position(Option::is_none);
        free.unwrap_or(self.ports.len())
    }
}
