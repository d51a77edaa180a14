//! Ports: where the program is attached, and how each place receives.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::TryRecvError;

use bpf::attach;
use bpf::attach::{Attachment, Mode};
use bpf::program::Program;
use fib::NextHop;

use super::answers::flags;
use super::attacher::{Coming, Order};
use super::port::{Device, FOR_EVER, PORT_WORDS, Port, PortSettings};
use super::tags::Teller;
use super::{Forwarder, Load, Lookup, Place, counters, vlans};
use crate::{Error, Result};

/// `OWN_BITS` of the C source.
const OWN_BITS: u32 = 18;

impl Forwarder {
    /// Attaches to an interface of the calling thread's network namespace. It forwards nothing yet:
    /// [`Forwarder::set_port`] comes next.
    ///
    /// # Errors
    /// [`bpf::Error::Refused`] when the kernel does not take the program, else as
    /// [`Attachment::new`]; [`Error::Value`] when all 64 places are taken.
    pub fn attach(&mut self, interface: &str, place: impl Into<Place>) -> Result<&Attachment> {
        self.attach_at(interface, attach::index_of(interface)?, place)
    }

    /// The same to the interface with this index, which `interface` is the name of: never to
    /// another that has got the name meanwhile.
    ///
    /// # Errors
    /// As [`Forwarder::attach`].
    pub fn attach_at(
        &mut self,
        interface: &str,
        ifindex: u32,
        place: impl Into<Place>,
    ) -> Result<&Attachment> {
        self.detach(ifindex);
        let coming = self.begin(interface, ifindex, place.into())?;
        let outcome = coming.outcome.recv();
        self.arrive(interface, ifindex, coming.number, outcome.ok())
    }

    /// As [`Forwarder::attach_at`], and without waiting: a thread attaches, which takes as long as
    /// it takes. Ask again until there is an answer, or [`Forwarder::detach`].
    pub fn attach_soon(
        &mut self,
        interface: &str,
        ifindex: u32,
        place: impl Into<Place>,
    ) -> Option<Result<&Attachment>> {
        let place = place.into();
        let coming = self.coming.get(&ifindex);
        let Some(coming) = coming.filter(|coming| coming.place == place) else {
            self.detach(ifindex);
            return match self.begin(interface, ifindex, place) {
                Ok(coming) => {
                    self.coming.insert(ifindex, coming);
                    None
                }
                Err(error) => Some(Err(error)),
            };
        };
        let outcome = match coming.outcome.try_recv() {
            Err(TryRecvError::Empty) => return None,
            outcome => outcome.ok(),
        };
        let number = coming.number;
        self.coming.remove(&ifindex);
        Some(self.arrive(interface, ifindex, number, outcome))
    }

    /// Has the thread attach to an interface, for a place that nobody has.
    fn begin(&self, interface: &str, ifindex: u32, place: Place) -> Result<Coming> {
        let is_free = |number: &usize| {
            let mut coming = self.coming.values();
            self.ports.get(*number).is_none_or(Option::is_none)
                && coming.all(|coming| coming.number != *number)
        };
        let number = (0..counters::PORTS).find(is_free).ok_or_else(|| {
            let remedy = format!("at most {}", counters::PORTS);
            Error::value("number of ports", counters::PORTS + 1, remedy)
        })?;
        self.write_port(number, 0, 0, ifindex);
        let order = Order {
            interface: interface.to_owned(),
            ifindex,
            place,
            load: self.load_for(number, Mode::Native, Teller::Nobody),
            ahead: self.ahead,
            maps: self.maps.clone(),
            sends: self.sends.clone(),
        };
        Ok(self.attacher.attach(order))
    }

    /// What the thread has attached is a port from now on.
    fn arrive(
        &mut self,
        interface: &str,
        ifindex: u32,
        number: usize,
        outcome: Option<Result<Port>>,
    ) -> Result<&Attachment> {
        let ended = || bpf::Error::Attach {
            interface: interface.to_owned(),
            error: io::Error::other("the thread that attaches has ended"),
        };
        let port = outcome.ok_or_else(ended)??;
        if self.ports.len() <= number {
            self.ports.resize_with(number + 1, || None);
        }
        self.ports[number] = Some(port);
        self.port_changed(number);
        // Just filled.
        self.ports[number]
            .as_ref()
            .map(|port| &port.attachment)
            .ok_or(Error::NoPort(ifindex))
    }

    pub(super) fn load_for(&self, port: usize, mode: Mode, teller: Teller) -> Load {
        Load {
            lookup: self.lookup,
            target: self.target,
            capacity: self.capacity,
            cpus: self.cpus,
            port,
            mode,
            teller,
            ahead: None,
            rehearsed: false,
        }
    }

    /// As the program that is on a port.
    pub(super) fn load_as(&self, number: usize, port: &Port) -> Load {
        Load {
            ahead: port.ahead,
            ..self.load_for(number, port.attachment.mode(), port.teller)
        }
    }

    /// The program of a port that can be run by hand.
    pub(super) fn dry(&self, ifindex: u32) -> Result<&Program> {
        let number = self.number_of(ifindex)?;
        let port = self.ports[number].as_ref();
        let port = port.ok_or(Error::NoPort(ifindex))?;
        if !matches!(port.teller, Teller::Driver { .. }) && port.ahead.is_none() {
            return Ok(&port.program);
        }
        if let Some(dry) = port.dry.get() {
            return Ok(dry);
        }
        let load = self.load_for(number, port.attachment.mode(), Teller::Nobody);
        let program = load.load(&self.maps)?;
        Ok(port.dry.get_or_init(|| program))
    }

    /// Takes the program off a port: its frames are the kernel's from now on, and a thread takes it
    /// off the device. Nothing happens when it is no port.
    pub fn detach(&mut self, ifindex: u32) {
        if let Some(coming) = self.coming.remove(&ifindex) {
            coming.given_up.store(true, Ordering::Relaxed);
            self.attacher.take_off(coming);
        }
        let Ok(number) = self.number_of(ifindex) else {
            return;
        };
        self.write_port(number, 0, 0, 0);
        if let Some(shows) = &mut self.shows {
            shows.forget(ifindex);
        }
        if let Some(mut port) = self.ports[number].take() {
            for (key, words) in std::mem::take(&mut port.vlans) {
                self.remove_vlan(key, words);
            }
            self.forget_counts(number);
            self.attacher.take_off(port);
        }
        let _gone = self.maps["egresses"].remove(ifindex);
        let _gone = self.maps["out"].remove(number as u32);
        self.port_changed(number);
    }

    pub(super) fn number_of(&self, ifindex: u32) -> Result<usize> {
        self.ports
            .iter()
            .position(|port| port.as_ref().is_some_and(|port| port.ifindex == ifindex))
            .ok_or(Error::NoPort(ifindex))
    }

    /// The table first, so that no frame is looked up in the wrong one.
    pub(super) fn write_port(&self, number: usize, station: u64, table: usize, ifindex: u32) {
        let first = PORT_WORDS * number;
        self.port_words
            .write(first + 1, table as u64 | u64::from(ifindex) << 32);
        self.port_words.write(first, station);
    }

    /// Says how a port receives. What it accepts changes by one store, and so does what each of its
    /// VLANs does. A change of its table disables the port for a moment, and a VLAN until running
    /// programs have ended and [`Forwarder::tend`] was called; frames are not lost by it, they take
    /// the kernel's way. What looks up in a table that has no room, and a VLAN that has none, is
    /// the kernel's.
    ///
    /// # Errors
    /// [`Error::NoPort`].
    pub fn set_port(&mut self, ifindex: u32, settings: &PortSettings) -> Result<()> {
        let number = self.number_of(ifindex)?;
        let port = self.ports[number].as_mut().ok_or(Error::NoPort(ifindex))?;
        port.settings = settings.clone();
        self.write_settings(number);
        Ok(())
    }

    /// Has the programs act by the settings of a port.
    pub(super) fn write_settings(&mut self, number: usize) {
        let Some(port) = &self.ports[number] else {
            return;
        };
        let (ifindex, settings) = (port.ifindex, port.settings.clone());
        let enabled = settings.enabled && (settings.trusts_tags || !port.hides_tags());
        self.count_by(number, &settings);
        let all = if enabled { u64::MAX } else { 0 };
        let table = self.table(settings.table).unwrap_or(0);
        let bits = self.carried_of(settings.accepts, settings.table).bits() & all;
        let station = station(settings.mac) | bits | u64::from(enabled) << 54;
        let mut vlans = BTreeMap::new();
        for vlan in &settings.vlans {
            let table = self.table(vlan.table).unwrap_or(0);
            let bits = self.carried_of(vlan.accepts, vlan.table).bits() & all;
            let key = vlans::key(number, vlan.vid);
            let Some(place) = self.links.place(key) else {
                continue;
            };
            let words = [
                self::station(vlan.mac) | bits,
                table as u64 | u64::from(vlan.ifindex) << 32,
                FOR_EVER,
                (place as u64) << 32,
            ];
            vlans.insert(key, words);
        }
        self.port_words
            .write(PORT_WORDS * number + 3, settings.flows.bits());
        let left = settings.vlans.len() - vlans.len();
        self.write_vlans(number, vlans, left);
        let place = table as u64 | u64::from(ifindex) << 32;
        if self.port_words.read(PORT_WORDS * number + 1) != place {
            self.write_port(number, 0, table, ifindex);
        }
        self.port_words.write(PORT_WORDS * number, station);
    }

    /// The IPv4 addresses of this network namespace: as sources they are the kernel's, except where
    /// [`super::Accepts::own_sources`] holds.
    pub fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = u32>) {
        let mut own = vec![0; self.own.len()];
        for address in addresses {
            let place = address.wrapping_mul(0x9e37_79b1) >> (32 - OWN_BITS);
            own[place as usize / 64] |= 1 << (place % 64);
        }
        for (at, word) in own.into_iter().enumerate() {
            if self.own.read(at) != word {
                self.own.write(at, word);
            }
        }
    }

    /// For the kernel's lookup: which port a frame for an interface of the kernel leaves by. Frames
    /// for an interface that finds no room are the kernel's.
    pub(super) fn write_egresses(&self, number: usize) {
        let Some(port) = &self.ports[number] else {
            return;
        };
        if self.lookup == Lookup::Own {
            return;
        }
        let of_port = (number as u64) << 32 | u64::from(flags(port.device.redirects)) << 40;
        let set = |ifindex: u32, vlan: u32| {
            let word = u64::from(ifindex) | of_port | u64::from(vlan) << 48;
            let _full = self.maps["egresses"].set(ifindex, &word);
        };
        set(port.ifindex, 0);
        for (key, of_vlan) in &port.vlans {
            let ifindex = (of_vlan[1] >> 32) as u32;
            if ifindex != 0 {
                set(ifindex, key & vlans::VID);
            }
        }
    }

    /// What the device of a port does, as it said last.
    pub fn device(&self, ifindex: u32) -> Option<Device> {
        let number = self.number_of(ifindex).ok()?;
        self.ports[number].as_ref().map(|port| port.device)
    }

    /// What the device of a port does from now on; ask it now and then. When the port is attached,
    /// it is asked for the first time. What is no port has none.
    pub fn set_device(&mut self, ifindex: u32, device: Device) {
        let Ok(number) = self.number_of(ifindex) else {
            return;
        };
        let Some(port) = &mut self.ports[number] else {
            return;
        };
        let before = std::mem::replace(&mut port.device, device);
        if before.takes_tags != device.takes_tags {
            self.write_settings(number);
        }
        if before.redirects != device.redirects {
            self.port_changed(number);
        }
    }

    /// Can frames have come by a port with a VLAN tag that nobody tells the program of? What is no
    /// port hides nothing.
    pub fn hides_tags(&self, ifindex: u32) -> bool {
        let number = self.number_of(ifindex).ok();
        let port = number.and_then(|number| self.ports[number].as_ref());
        port.is_some_and(Port::hides_tags)
    }

    /// Writes every adjacency again that leaves by this port or could not leave by any.
    fn port_changed(&mut self, number: usize) {
        self.write_egresses(number);
        let concerned: Vec<_> = self
            .adjacencies
            .iter()
            .map(|(&id, &entry)| (NextHop(id), self.effective(entry)))
            .filter(|&(id, entry)| self.next_hops.get(id) != entry)
            .collect();
        for (id, entry) in concerned {
            self.write_next_hop(id, entry);
        }
        let groups: Vec<_> = self.groups.keys().copied().collect();
        self.write_groups(&groups);
        self.settle();
    }
}

/// A MAC address as the program compares it: six bytes as they lie in memory.
fn station(mac: [u8; 6]) -> u64 {
    u64::from_le_bytes([mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], 0, 0])
}
