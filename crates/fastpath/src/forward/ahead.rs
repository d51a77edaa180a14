//! Programs that are loaded before their port is attached, by a thread: the verifier takes a good
//! part of a second, in which whoever attaches could not follow the kernel.

use std::thread::JoinHandle;

use bpf::attach::{Mode, Request};
use bpf::program::Program;

use super::tags::Teller;
use super::{Forwarder, Place, Target};

/// A program for an interface at a port's place.
#[derive(Debug)]
pub(super) struct Ahead {
    ifindex: u32,
    number: usize,
    mode: Mode,
    thread: JoinHandle<bpf::Result<Program>>,
}

impl Forwarder {
    /// Would [`Forwarder::attach_at`] find the program of this interface loaded? If not, a thread
    /// begins to load it; ask again.
    pub fn is_loaded(&mut self, ifindex: u32, place: impl Into<Place>) -> bool {
        let (mode, teller) = match place.into() {
            _ if matches!(self.target, Target::Copies { .. }) => return true,
            Place::Xdp(Request::Generic) => return true,
            Place::Xdp(_) => (Mode::Native, self.tellers.native(ifindex)),
            Place::Tc => (Mode::Tc, Teller::Stack),
        };
        let number = self.next_number();
        if let Some(ahead) = &self.ahead {
            let is_this = (ahead.ifindex, ahead.number, ahead.mode) == (ifindex, number, mode);
            if is_this || !ahead.thread.is_finished() {
                return is_this && ahead.thread.is_finished();
            }
        }
        let load = self.load_for(number, mode, teller);
        let maps = self.maps.clone();
        let thread = std::thread::Builder::new().name("load".to_owned());
        let thread = thread.spawn(move || load.load(&maps));
        let Ok(thread) = thread else {
            return true;
        };
        self.ahead = Some(Ahead {
            ifindex,
            number,
            mode,
            thread,
        });
        false
    }

    /// The program for an interface at this place, if a thread loads it or has.
    pub(super) fn loaded(
        &mut self,
        ifindex: u32,
        number: usize,
        mode: Mode,
    ) -> Option<bpf::Result<Program>> {
        let wanted = (ifindex, number, mode);
        let is_wanted = |ahead: &mut Ahead| (ahead.ifindex, ahead.number, ahead.mode) == wanted;
        let ahead = self.ahead.take_if(is_wanted)?;
        ahead.thread.join().ok()
    }

    /// The place of the next port.
    pub(super) fn next_number(&self) -> usize {
        let free = self.ports.iter().position(Option::is_none);
        free.unwrap_or(self.ports.len())
    }
}
