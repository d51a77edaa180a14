//! A dump of everything that the mirror follows, a piece at a time, so that whoever reads it can do
//! other things between two.

use std::io;

use host::netlink::{Dumped, Piece, Socket};

use super::decode::{RTM_GETNEXTHOP, decode};
use crate::control_plane::model::Event;

/// How often one table is asked for again when the kernel says that it changed meanwhile.
const ATTEMPTS: u32 = 4;
const V4: u8 = libc::AF_INET as u8;
const V6: u8 = libc::AF_INET6 as u8;
/// What to ask for, of which family, and how long the request's body is. What is referred to comes
/// first.
const REQUESTS: [(u16, u8, usize); 9] = [
    (libc::RTM_GETLINK, 0, 16),
    (libc::RTM_GETADDR, 0, 8),
    (libc::RTM_GETRULE, V4, 12),
    (libc::RTM_GETRULE, V6, 12),
    (libc::RTM_GETNEIGH, V4, 12),
    (libc::RTM_GETNEIGH, V6, 12),
    (RTM_GETNEXTHOP, 0, 8),
    (libc::RTM_GETROUTE, V4, 12),
    (libc::RTM_GETROUTE, V6, 12),
];

/// A dump under way on one socket.
#[derive(Debug)]
pub struct Dump {
    living_only: bool,
    /// The table that is being read, and how often it was begun before.
    at: usize,
    attempt: u32,
    asked: bool,
    state: Dumped,
    outcome: Dumped,
    events: u64,
}

impl Dump {
    /// Has asked for nothing yet. `living_only`: see [`super::dump_all`].
    pub fn new(living_only: bool) -> Self {
        Self {
            living_only,
            at: 0,
            attempt: 0,
            asked: false,
            state: Dumped::Whole,
            outcome: Dumped::Whole,
            events: 0,
        }
    }

    /// Is everything read except routes?
    pub fn has_come_to_routes(&self) -> bool {
        REQUESTS
            .get(self.at)
            .is_none_or(|(kind, _, _)| *kind == libc::RTM_GETROUTE)
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Was every table, as far as it was read, of one piece?
    pub fn outcome(&self) -> Dumped {
        self.outcome
    }

    /// Reads the next piece: what the kernel gives at once, at most
    /// [`READ_SIZE`](host::netlink::READ_SIZE) bytes. Never waits.
    ///
    /// # Errors
    /// When the kernel refuses. Nexthop objects are left out on kernels that do not have them.
    pub fn piece(&mut self, socket: &mut Socket, mut take: impl FnMut(Event)) -> io::Result<Piece> {
        let Some(&(kind, family, length)) = REQUESTS.get(self.at) else {
            return Ok(Piece::Last);
        };
        if !self.asked {
            let mut body = vec![0; length];
            body[0] = family;
            socket.request(kind, libc::NLM_F_DUMP as u16, &body)?;
            self.asked = true;
            self.state = Dumped::Whole;
        }
        let Self {
            living_only,
            state,
            events,
            ..
        } = self;
        let piece = socket.dump_piece(state, |message| {
            if let Some(event) = decode(message, *living_only) {
                *events += 1;
                take(event);
            }
        });
        match piece {
            Err(error)
                if kind == RTM_GETNEXTHOP && error.raw_os_error() == Some(libc::EOPNOTSUPP) =>
            {
                self.next();
            }
            Ok(Piece::Last) if self.state == Dumped::Whole => self.next(),
            Ok(Piece::Last) => {
                self.asked = false;
                self.attempt += 1;
                if self.attempt == ATTEMPTS {
                    self.outcome = Dumped::Interrupted;
                    self.next();
                }
            }
            other => return other,
        }
        Ok(if self.at == REQUESTS.len() {
            Piece::Last
        } else {
            Piece::More
        })
    }

    fn next(&mut self) {
        self.at += 1;
        self.attempt = 0;
        self.asked = false;
    }
}
