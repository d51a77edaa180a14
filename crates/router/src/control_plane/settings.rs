//! The kernel's settings of the links that frames come in by, read by a thread: there may be
//! thousands of these links, and several files for each.
//!
//! The kernel announces some changes ([`Changes`]): upon these, and upon a new link, the thread
//! reads at once. The rest it finds when it reads again, ten times a second. With very many links
//! it reads less often: it never takes more than a fifth of a core.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use fastpath::forward::{Accepts, Flows};
use host::netlink::{Message, ROUTE, Received, Socket, attributes, number};

use super::sysctl;

/// From the beginning of a reading to that of the next, when nothing is announced.
const INTERVAL: Duration = Duration::from_millis(100);
/// And at least so many times what it took.
const SHARE: u32 = 5;

const RTNLGRP_IPV4_NETCONF: u32 = 24;
const RTNLGRP_IPV6_NETCONF: u32 = 25;
/// Bytes of `struct netconfmsg`, with what fills them up; `NETCONFA_IFINDEX`, and its value for all
/// interfaces.
const NETCONF: usize = 4;
const IFINDEX: u16 = 1;
const ALL: u32 = -1_i32 as u32;

/// A port or a VLAN sub-interface of one.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Name.
    pub name: String,
    /// Interface index.
    pub index: u32,
    /// Is it a port?
    pub is_port: bool,
    /// How many programs the engine has of its own at tc there.
    pub own_at_tc: u32,
    /// Does what the engine sends there pass its queueing discipline, filters and programs?
    pub passes_discipline: bool,
}

/// What the settings of a link say.
#[derive(Debug)]
pub struct Setting {
    /// The link.
    pub link: Watched,
    /// What it accepts.
    pub accepts: Accepts,
    /// The MTU of IPv6 in bytes, where there is IPv6.
    pub mtu6: Option<u32>,
}

/// What all of them say.
#[derive(Debug, Default)]
pub struct Settings {
    /// What makes a flow.
    pub flows: Flows,
    /// The links that were asked about.
    pub links: Vec<Setting>,
}

impl Settings {
    /// Reads those of these links, in the calling thread's network namespace.
    pub fn read(links: Vec<Watched>) -> Self {
        let all = sysctl::All::read();
        let read = |link: Watched| Setting {
            accepts: all.accepts(&link.name),
            mtu6: sysctl::mtu6(&link.name),
            link,
        };
        Self {
            flows: sysctl::flows(),
            links: links.into_iter().map(read).collect(),
        }
    }
}

/// The thread that reads.
#[derive(Debug)]
pub struct Reader {
    orders: Sender<Vec<Watched>>,
    answers: Receiver<(Settings, Duration)>,
    /// A byte for each answer.
    bell: PipeReader,
    /// When it last began, and whether it reads still.
    began: Instant,
    is_reading: bool,
    /// What the last reading took.
    took: Duration,
    /// Something has changed since it last began.
    is_wanted: bool,
}

impl AsFd for Reader {
    /// Readable when there is an answer.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Reader {
    /// Starts it in the calling thread's network namespace.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn start() -> io::Result<Self> {
        let (orders, ordered) = channel();
        let (answer, answers) = channel();
        let (bell, ringer) = io::pipe()?;
        let thread = std::thread::Builder::new().name("settings".to_owned());
        thread.spawn(move || serve(&ordered, &answer, ringer))?;
        Ok(Self {
            orders,
            answers,
            bell,
            began: Instant::now(),
            is_reading: false,
            took: Duration::ZERO,
            is_wanted: false,
        })
    }

    /// Something has changed: the next reading is not to wait.
    pub fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Is it to [begin](Self::begin) now?
    pub fn is_due(&self, now: Instant) -> bool {
        let interval = if self.is_wanted {
            Duration::ZERO
        } else {
            INTERVAL
        };
        let since = now.saturating_duration_since(self.began);
        !self.is_reading && since >= interval.max(self.took * SHARE)
    }

    /// Begins to read the settings of these links.
    pub fn begin(&mut self, links: Vec<Watched>, now: Instant) {
        // A thread that has ended says so when it is asked for the answer.
        let _ended = self.orders.send(links);
        (self.began, self.is_reading, self.is_wanted) = (now, true, false);
    }

    /// What it has read, if it is done.
    ///
    /// # Errors
    /// When the thread has ended.
    pub fn answer(&mut self) -> io::Result<Option<Settings>> {
        let ended = || io::Error::other("the thread that reads settings ended");
        let (settings, took) = match self.answers.try_recv() {
            Err(TryRecvError::Empty) => return Ok(None),
            answer => answer.map_err(|_| ended())?,
        };
        // The byte comes at once, if it is not there yet.
        self.bell.read_exact(&mut [0])?;
        (self.took, self.is_reading) = (took, false);
        Ok(Some(settings))
    }
}

fn serve(
    orders: &Receiver<Vec<Watched>>,
    answers: &Sender<(Settings, Duration)>,
    mut bell: PipeWriter,
) {
    for links in orders {
        let began = Instant::now();
        let settings = Settings::read(links);
        let sent = answers.send((settings, began.elapsed()));
        if sent.is_err() || bell.write_all(&[0]).is_err() {
            return;
        }
    }
}

/// What tells of changes: forwarding and `rp_filter` of an interface or of all.
#[derive(Debug)]
pub struct Changes(Socket);

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Changes {
    /// Listens from now on, in the calling thread's network namespace.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn listen() -> io::Result<Self> {
        let groups = [RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF];
        Ok(Self(Socket::open(ROUTE, &groups)?))
    }

    /// Has one of these interfaces another setting since this was last asked? When announcements
    /// were lost, it may.
    pub fn concern(&mut self, is_watched: impl Fn(u32) -> bool) -> bool {
        let mut concern = false;
        let take = |concern: &mut bool, message: Message<'_>| {
            let index = interface(message.payload);
            *concern |= index.is_some_and(|index| index == ALL || is_watched(index));
        };
        loop {
            match self.0.receive(|message| take(&mut concern, message)) {
                Ok(Received::Messages(_)) => {}
                Ok(Received::Overrun) => concern = true,
                Ok(Received::Nothing) | Err(_) => return concern,
            }
        }
    }
}

/// Whose settings a message is about.
fn interface(payload: &[u8]) -> Option<u32> {
    let mut attributes = attributes(payload.get(NETCONF..)?);
    let (_, index) = attributes.find(|(kind, _)| *kind == IFINDEX)?;
    Some(number(index))
}
