//! Programs are loaded, attached and taken off by a thread. The verifier takes a good part of a
//! second, and the kernel changes what is attached when nobody else changes links, which may be
//! seconds later: whoever follows the kernel must not wait for either.
//!
//! The thread works in order. So a device is free of its old program before a new one comes, and
//! the place of a port has one program at a time.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use bpf::attach::{Attachment, Mode, Request};
use bpf::map::Map;
use bpf::program::Program;

use super::ahead::Ahead;
use super::port::{Device, Port, PortSettings};
use super::send::{Sends, Way};
use super::tags::{Teller, Tellers};
use super::{Load, Lookup, Place, Suits, Target};
use crate::{Error, Result};

type Job = Box<dyn FnOnce(&mut Tellers) + Send>;

/// The thread, in the network namespace of who started it. Dropping it waits for the thread.
#[derive(Debug)]
pub(super) struct Attacher {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Attacher {
    pub(super) fn start(mut tellers: Tellers) -> Result<Self> {
        let (jobs, given) = channel::<Job>();
        let thread = std::thread::Builder::new().name("attach".to_owned());
        let thread = thread.spawn(move || given.into_iter().for_each(|job| job(&mut tellers)));
        let thread = thread.map_err(|error| Error::value("threads", "one more", error.to_string()));
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread?),
        })
    }

    /// Attaches a program. What is given up before its turn costs nothing: a port may come and go
    /// faster than programs are loaded.
    pub(super) fn attach(&self, order: Order) -> Coming {
        let (sender, outcome) = channel();
        let given_up = Arc::new(AtomicBool::new(false));
        let coming = Coming {
            number: order.load.port,
            place: order.place,
            outcome,
            given_up: Arc::clone(&given_up),
        };
        self.give(Box::new(move |tellers| {
            if !given_up.load(Ordering::Relaxed) {
                // What nobody waits for any more is taken off here.
                let _given_up = sender.send(order.attach(tellers));
            }
        }));
        coming
    }

    /// Loads something for a port that is attached, after all that was given before.
    pub(super) fn load<T: Send + 'static>(
        &self,
        load: impl FnOnce() -> T + Send + 'static,
    ) -> Receiver<T> {
        let (sender, outcome) = channel();
        self.give(Box::new(move |_| {
            // Nobody may wait for it any more.
            let _given_up = sender.send(load());
        }));
        outcome
    }

    /// Drops something that is attached, after all that was given before.
    pub(super) fn take_off(&self, attached: impl Send + 'static) {
        self.give(Box::new(move |_| drop(attached)));
    }

    fn give(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // Without a thread it is dropped here.
            let _ended = jobs.send(job);
        }
    }
}

impl Drop for Attacher {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// A port on its way.
#[derive(Debug)]
pub(super) struct Coming {
    pub(super) number: usize,
    /// As asked for.
    pub(super) place: Place,
    pub(super) outcome: Receiver<Result<Port>>,
    pub(super) given_up: Arc<AtomicBool>,
}

/// What is to be attached where.
pub(super) struct Order {
    pub(super) interface: String,
    pub(super) ifindex: u32,
    pub(super) place: Place,
    /// For any mode, teller and device.
    pub(super) load: Load,
    /// For one that such frames wait at.
    pub(super) ahead: Option<Ahead>,
    pub(super) maps: HashMap<&'static str, Map>,
    pub(super) sends: Option<Sends>,
}

/// A loaded program, and what it was loaded for.
struct Made {
    program: Program,
    teller: Teller,
    ahead: Option<Ahead>,
}

impl Made {
    /// One that sees nothing but its frame.
    fn of(program: Program, teller: Teller) -> Self {
        Self {
            program,
            teller,
            ahead: None,
        }
    }
}

impl Order {
    fn attach(&self, tellers: &mut Tellers) -> Result<Port> {
        let ask = || Suits::ask(&self.interface, self.ifindex).unwrap_or(Suits::Software);
        let suits = match self.place {
            Place::Suiting(known) => Some(known.unwrap_or_else(ask)),
            Place::Xdp(_) | Place::Tc | Place::Elsewhere(_) => None,
        };
        let place = suits.map_or(self.place, Suits::place);
        let mut done = self.attach_at(place, tellers);
        if let (Some(_), Err(Error::Bpf(error))) = (suits, &done) {
            match (place, error) {
                (Place::Xdp(_), bpf::Error::NotNative { .. }) => {
                    done = self.attach_at(Place::Tc, tellers);
                }
                // The kernel may lack what it takes (`bpf::classifier`).
                (Place::Tc, bpf::Error::Attach { .. }) => {
                    done = self.attach_at(Request::Any.into(), tellers);
                }
                _ => {}
            }
        }
        let (made, attachment) = done?;
        self.maps["out"].set(self.load.port as u32, &self.ifindex)?;
        let device = Device::ask(&self.interface, self.ifindex).unwrap_or(Device::UNKNOWN);
        Ok(Port {
            ifindex: self.ifindex,
            program: made.program,
            attachment,
            device: Device {
                suits: suits.unwrap_or(device.suits),
                ..device
            },
            teller: made.teller,
            ahead: made.ahead,
            dry: OnceCell::new(),
            way: self.way(),
            settings: PortSettings::default(),
            vlans: BTreeMap::new(),
            vlans_left: 0,
            vlans_wait: false,
        })
    }

    /// Where it cannot be, workers have their sockets.
    fn way(&self) -> Option<Way> {
        let sends = self.sends.as_ref()?;
        sends.way(self.load.port as u32, self.ifindex).ok()?
    }

    fn attach_at(&self, place: Place, tellers: &mut Tellers) -> Result<(Made, Attachment)> {
        match (self.load.target, place) {
            (Target::Copies { longest }, _) => {
                let load = self.load_for(Mode::Tc, Teller::Nobody);
                let loaded = load.load_take(longest, &self.maps)?;
                let program = loaded.program("take")?;
                let attachment = Attachment::at_tc(&program, &self.interface, self.ifindex)?;
                // There the kernel has the tag of every frame beside it.
                Ok((Made::of(loaded.program("hear")?, Teller::Stack), attachment))
            }
            (_, Place::Xdp(request)) => self.attach_xdp(request, tellers),
            (_, Place::Elsewhere(mode)) => {
                let made = self.load_in(mode, tellers)?;
                let attachment = Attachment::elsewhere(&self.interface, self.ifindex, mode);
                Ok((made, attachment))
            }
            (_, Place::Tc | Place::Suiting(_)) => self.attach_tc(),
        }
    }

    fn attach_tc(&self) -> Result<(Made, Attachment)> {
        if self.load.lookup == Lookup::Kernel || self.load.target != Target::Ports {
            let remedy = "the kernel's table and AF_XDP sockets need XDP";
            return Err(Error::value("place of a program", "tc", remedy));
        }
        let made = self.load_tc()?;
        let attachment = Attachment::at_tc(&made.program, &self.interface, self.ifindex)?;
        Ok((made, attachment))
    }

    fn attach_xdp(&self, request: Request, tellers: &mut Tellers) -> Result<(Made, Attachment)> {
        let attach = |made: &Made, request| {
            Attachment::at(&made.program, &self.interface, self.ifindex, request)
        };
        if request != Request::Generic {
            let native = self.load_native(tellers.native(self.ifindex))?;
            match attach(&native, Request::Native) {
                Err(bpf::Error::NotNative { .. }) if request == Request::Any => {}
                attachment => return Ok((native, attachment?)),
            }
        }
        let generic = self.load_generic(tellers)?;
        let attachment = attach(&generic, Request::Generic)?;
        Ok((generic, attachment))
    }

    /// For a place that is another process's for the time being.
    fn load_in(&self, mode: Mode, tellers: &mut Tellers) -> Result<Made> {
        match mode {
            Mode::Native => self.load_native(tellers.native(self.ifindex)),
            Mode::Generic => self.load_generic(tellers),
            Mode::Tc => self.load_tc(),
        }
    }

    fn load_tc(&self) -> Result<Made> {
        // There the kernel has the tag of every frame beside it.
        let teller = Teller::Stack;
        let program = self.load_for(Mode::Tc, teller).load(&self.maps)?;
        Ok(Made::of(program, teller))
    }

    fn load_generic(&self, tellers: &mut Tellers) -> Result<Made> {
        let teller = tellers.generic(&self.maps["arrived"])?;
        let program = self.load_for(Mode::Generic, teller).load(&self.maps)?;
        Ok(Made::of(program, teller))
    }

    /// For the driver; one that may not be bound to it does not ask it. A kernel that does not let it
    /// look ahead gets it without.
    fn load_native(&self, teller: Teller) -> Result<Made> {
        let load = |teller, ahead| {
            let load = Load {
                ahead,
                ..self.load_for(Mode::Native, teller)
            };
            let program = load.load(&self.maps)?;
            Ok(Made {
                program,
                teller,
                ahead,
            })
        };
        let ahead = self.ahead.and_then(|ahead| ahead.at(self.ifindex));
        let with = |teller| match load(teller, ahead) {
            Err(Error::Bpf(bpf::Error::Refused { .. })) if ahead.is_some() => load(teller, None),
            outcome => outcome,
        };
        match with(teller) {
            Err(Error::Bpf(bpf::Error::NotBound { .. })) => with(Teller::Nobody),
            outcome => outcome,
        }
    }

    fn load_for(&self, mode: Mode, teller: Teller) -> Load {
        Load {
            mode,
            teller,
            ..self.load
        }
    }
}
