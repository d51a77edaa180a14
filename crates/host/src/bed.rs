//! Beds: namespaces, the cables between them, addresses, routes, neighbours.
//!
//! ```text
//! let bed = Bed::plan()
//!     .forwarding("router")
//!     .cable(
//!         side("host", "e0").address("10.0.0.2/24"),
//!         side("router", "r0").address("10.0.0.1/24"),
//!     )
//!     .ip("host", "route replace default via 10.0.0.1")
//!     .lay()?;
//! ```
//!
//! A [`Plan`] is words alone. Laying it makes every namespace it mentions, in one call of `ip`,
//! then every cable in another, then what belongs into each namespace in one more. A [`Bed`] is
//! removed when it and the last clone of its ends are dropped; after a crash
//! [`sweep_leftovers`](crate::namespace::sweep_leftovers) removes it.
//!
//! Hardware addresses are made from the names, so that runs do not differ by them.

use std::fmt::Write;
use std::thread;
use std::time::{Duration, Instant};

use crate::cores::CoreId;
use crate::namespace::{Namespace, OnFailure, batch, run};
use crate::network_error::Error;
use crate::offload::Offload;

/// How long a cable may take until the kernel has noticed that both ends are up.
const LINK_PATIENCE: Duration = Duration::from_secs(5);
/// Pause between two looks at it.
const LINK_PAUSE: Duration = Duration::from_millis(5);
/// Longest name of an interface (IFNAMSIZ less the final zero).
const INTERFACE_NAME_MAX: usize = 15;

/// One end of a cable, laid.
#[derive(Clone, Debug)]
pub struct End {
    /// Where it is; holding it keeps the namespace.
    pub namespace: Namespace,
    /// Its name there.
    pub interface: String,
    /// Its index there.
    pub index: u32,
    /// Its hardware address.
    pub mac: [u8; 6],
}

impl End {
    /// Has what each of `cores` sends or forwards leave by the transmit queue of its number, where
    /// the kernel knows how (`CONFIG_XPS`). Else it chooses a queue by the frame: cores then take
    /// a queue's lock from each other, and frames change cores.
    ///
    /// # Errors
    /// When the kernel refuses, as it does for an interface with one queue.
    pub fn keep_apart(&self, cores: &[CoreId]) -> Result<(), Error> {
        let interface = &self.interface;
        // `ip netns exec` mounts /sys anew: that of this thread shows another namespace.
        let script = cores.iter().fold("set -e".to_owned(), |script, core| {
            let file = format!("/sys/class/net/{interface}/queues/tx-{core}/xps_cpus");
            let mask = mask(*core);
            format!("{script}; if [ -e {file} ]; then echo {mask} > {file}; fi")
        });
        run(self.namespace.command("sh").args(["-c", &script])).map(drop)
    }
}

impl End {
    /// Has what arrives here received by all of `cores`, each flow by one of them (receive packet
    /// steering, `rps_cpus`), whichever core the interrupt is on.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn receive_on(&self, cores: &[CoreId]) -> Result<(), Error> {
        let files = format!("/sys/class/net/{}/queues/rx-*/rps_cpus", self.interface);
        let mask = masks(cores);
        // As in `keep_apart`; a queue is there on every interface.
        let script = format!("set -e; for file in {files}; do echo {mask} > $file; done");
        run(self.namespace.command("sh").args(["-c", &script])).map(drop)
    }
}

/// Cores as a mask of the kernel: 32 cores a word, the highest first.
fn masks(cores: &[CoreId]) -> String {
    let highest = cores.iter().map(|core| core.0).max().unwrap_or(0);
    let mut words = vec![0_u32; highest as usize / 32 + 1];
    for &CoreId(core) in cores {
        words[core as usize / 32] |= 1 << (core % 32);
    }
    let words: Vec<String> = words
        .iter()
        .rev()
        .map(|word| format!("{word:08x}"))
        .collect();
    words.join(",")
}

/// A core as a mask of the kernel: 32 cores a word, the highest first.
fn mask(CoreId(core): CoreId) -> String {
    let lower = ",00000000".repeat(core as usize / 32);
    format!("{:x}{lower}", 1_u32 << (core % 32))
}

/// A virtual cable, both ends up and ready to send. It goes away with either namespace.
#[derive(Clone, Debug)]
pub struct Veth {
    /// The first end.
    pub a: End,
    /// The second end.
    pub b: End,
}

/// One end of a cable, planned.
#[derive(Clone, Debug, Default)]
pub struct Side {
    place: String,
    interface: String,
    /// Words of `ip link set`.
    link: String,
    addresses: Vec<String>,
    neighbours: Vec<String>,
    routes: Vec<(String, String)>,
    offloads: Vec<(Offload, bool)>,
}

/// The end of a cable called `interface` in the namespace `place`.
pub fn side(place: &str, interface: &str) -> Side {
    Side {
        place: place.to_owned(),
        interface: interface.to_owned(),
        ..Side::default()
    }
}

#[allow(clippy::needless_pass_by_value)] // so that literals, texts and addresses read alike
impl Side {
    /// Gives it an address with the length of its network, `10.0.0.1/24`. Nobody waits for
    /// duplicates of an IPv6 address to be looked for.
    #[must_use]
    pub fn address(mut self, address: impl ToString) -> Self {
        self.addresses.push(address.to_string());
        self
    }

    /// Makes the other end a permanent neighbour with this address.
    #[must_use]
    pub fn neighbour(mut self, address: impl ToString) -> Self {
        self.neighbours.push(address.to_string());
        self
    }

    /// Routes a network through it, via a neighbour's address.
    #[must_use]
    pub fn route(mut self, network: impl ToString, via: impl ToString) -> Self {
        self.routes.push((network.to_string(), via.to_string()));
        self
    }

    /// Switches a feature of its on or off.
    #[must_use]
    pub fn switch(mut self, offload: Offload, on: bool) -> Self {
        self.offloads.push((offload, on));
        self
    }

    /// Other words of `ip link set`, such as `gro_max_size 3499`.
    #[must_use]
    pub fn link(mut self, words: &str) -> Self {
        self.link.push(' ');
        self.link.push_str(words);
        self
    }

    /// What makes it what it is. Each line may be run again.
    fn lines(&self, peer: [u8; 6]) -> String {
        let (interface, mut lines) = (&self.interface, String::new());
        let mut line = |words: String| {
            lines.push_str(&words);
            lines.push('\n');
        };
        line(format!("link set {interface}{} up", self.link));
        for address in &self.addresses {
            let at_once = if address.contains(':') { " nodad" } else { "" };
            line(format!("addr replace {address} dev {interface}{at_once}"));
        }
        for neighbour in &self.neighbours {
            let mac = mac_text(peer);
            line(format!(
                "neigh replace {neighbour} lladdr {mac} dev {interface} nud permanent"
            ));
        }
        for (network, via) in &self.routes {
            line(format!("route replace {network} via {via} dev {interface}"));
        }
        lines
    }

    /// A locally administered address made from the names (FNV-1a): the same in every run.
    fn mac(&self) -> [u8; 6] {
        let mut hash: u32 = 0x811c_9dc5;
        let names = self.place.bytes().chain([b'/']);
        for byte in names.chain(self.interface.bytes()) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        let [a, b, c, d] = hash.to_be_bytes();
        [0x02, 0xc0, a, b, c, d]
    }

    fn check(&self) -> Result<(), Error> {
        let interface = &self.interface;
        if interface.len() <= INTERFACE_NAME_MAX && !interface.contains(char::is_whitespace) {
            return Ok(());
        }
        Err(Error::Ip {
            arguments: format!("link add {interface}"),
            message: format!(
                "an interface's name has at most {INTERFACE_NAME_MAX} characters and no spaces"
            ),
        })
    }
}

/// A hardware address as `ip` writes it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// What a bed is to be.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    places: Vec<PlannedPlace>,
    cables: Vec<(Side, Side)>,
    /// Receive and transmit queues of every end.
    queues: u32,
    mtu: u32,
}

#[derive(Clone, Debug, Default)]
struct PlannedPlace {
    name: String,
    settings: Vec<(String, String)>,
    lines: String,
}

impl Plan {
    fn place(&mut self, name: &str) -> &mut PlannedPlace {
        let at = self.places.iter().position(|place| place.name == name);
        let at = at.unwrap_or_else(|| {
            self.places.push(PlannedPlace {
                name: name.to_owned(),
                ..PlannedPlace::default()
            });
            self.places.len() - 1
        });
        &mut self.places[at]
    }

    /// A namespace that need not have cables. Those with cables or settings come by themselves.
    #[must_use]
    pub fn namespace(mut self, place: &str) -> Self {
        self.place(place);
        self
    }

    /// A kernel setting of a namespace, made before its cables are laid.
    #[must_use]
    pub fn set(mut self, place: &str, key: &str, value: &str) -> Self {
        let setting = (key.to_owned(), value.to_owned());
        self.place(place).settings.push(setting);
        self
    }

    /// Has a namespace forward IPv4 and IPv6, whatever way back its routes name for a source.
    #[must_use]
    pub fn forwarding(self, place: &str) -> Self {
        self.set(place, "net.ipv4.conf.all.rp_filter", "0")
            .set(place, "net.ipv4.conf.default.rp_filter", "0")
            .set(place, "net.ipv4.ip_forward", "1")
            .set(place, "net.ipv6.conf.all.forwarding", "1")
    }

    /// A cable. Its ends are up before anything that follows.
    #[must_use]
    pub fn cable(mut self, a: Side, b: Side) -> Self {
        self.place(&a.place).lines += &a.lines(b.mac());
        self.place(&b.place).lines += &b.lines(a.mac());
        self.cables.push((a, b));
        self
    }

    /// The words of a call of `ip` in a namespace, after the cables named before. It should be one
    /// that may be run again, such as `route replace`.
    #[must_use]
    pub fn ip(mut self, place: &str, line: impl AsRef<str>) -> Self {
        let lines = &mut self.place(place).lines;
        lines.push_str(line.as_ref());
        lines.push('\n');
        self
    }

    /// Receive and transmit queues of each end of its cables; 1 unless told.
    #[must_use]
    pub fn queues(mut self, queues: u32) -> Self {
        self.queues = queues.max(1);
        self
    }

    /// MTU of its cables, bytes; 1500 unless told.
    #[must_use]
    pub fn mtu(mut self, bytes: u32) -> Self {
        self.mtu = bytes;
        self
    }

    /// Makes it.
    ///
    /// # Errors
    /// Without root or iproute2, when a name is too long or in use, or the kernel refuses; what was
    /// made is removed.
    pub fn lay(self) -> Result<Bed, Error> {
        let mut bed = Bed::default();
        bed.add(&self)?;
        Ok(bed)
    }
}

/// Namespaces and cables, removed when dropped.
#[derive(Debug, Default)]
pub struct Bed {
    places: Vec<Place>,
    cables: Vec<Veth>,
}

#[derive(Debug)]
struct Place {
    namespace: Namespace,
    lines: String,
}

impl Bed {
    /// A plan of nothing yet.
    pub fn plan() -> Plan {
        Plan {
            queues: 1,
            mtu: 1500,
            ..Plan::default()
        }
    }

    /// Lays more cables, between its namespaces and new ones.
    ///
    /// # Errors
    /// As [`Plan::lay`].
    pub fn add(&mut self, plan: &Plan) -> Result<(), Error> {
        for (a, b) in &plan.cables {
            a.check()?;
            b.check()?;
        }
        let names = plan.places.iter().map(|place| place.name.as_str());
        let new: Vec<&str> = names.filter(|name| self.namespace(name).is_err()).collect();
        for namespace in Namespace::all(&new)? {
            let lines = String::new();
            self.places.push(Place { namespace, lines });
        }
        for place in &plan.places {
            let namespace = self.namespace(&place.name)?;
            for (key, value) in &place.settings {
                namespace.set(key, value)?;
            }
        }
        batch(None, &self.links(plan)?, OnFailure::Stop)?;
        for PlannedPlace { name, lines, .. } in &plan.places {
            self.namespace(name)?.batch(lines, OnFailure::Stop)?;
            if let Some(place) = self.places.iter_mut().find(|place| place.is(name)) {
                place.lines.push_str(lines);
            }
        }
        for (a, b) in &plan.cables {
            let (a, b) = (self.take_up(a)?, self.take_up(b)?);
            self.cables.push(Veth { a, b });
        }
        Ok(())
    }

    /// The lines that make a plan's cables.
    fn links(&self, plan: &Plan) -> Result<String, Error> {
        let mut lines = String::new();
        let Plan { queues, mtu, .. } = plan;
        for (a, b) in &plan.cables {
            let mut words = Vec::new();
            for side in [a, b] {
                let (interface, mac) = (&side.interface, mac_text(side.mac()));
                words.push(format!(
                    "name {interface} netns {} address {mac} mtu {mtu} numtxqueues {queues} \
                     numrxqueues {queues}",
                    self.namespace(&side.place)?.name()
                ));
            }
            let _ = writeln!(lines, "link add {}", words.join(" type veth peer "));
        }
        Ok(lines)
    }

    /// Switches an end's features and waits until the kernel has noticed the carrier: until then,
    /// up to a second, it drops what is sent.
    fn take_up(&self, side: &Side) -> Result<End, Error> {
        let namespace = self.namespace(&side.place)?.clone();
        for &(offload, on) in &side.offloads {
            namespace.switch(&side.interface, offload, on)?;
        }
        let deadline = Instant::now() + LINK_PATIENCE;
        while !namespace.is_up(&side.interface)? {
            if Instant::now() > deadline {
                return Err(Error::Down {
                    name: namespace.name().to_owned(),
                    interface: side.interface.clone(),
                });
            }
            thread::sleep(LINK_PAUSE);
        }
        Ok(End {
            index: namespace.interface_index(&side.interface)?,
            interface: side.interface.clone(),
            mac: side.mac(),
            namespace,
        })
    }

    /// The namespace of this name.
    ///
    /// # Errors
    /// When no plan named it.
    pub fn namespace(&self, name: &str) -> Result<&Namespace, Error> {
        let place = self.places.iter().find(|place| place.is(name));
        place
            .map(|place| &place.namespace)
            .ok_or_else(|| Error::NoPlace(format!("namespace {name}")))
    }

    /// The cables, in the order of the plans.
    pub fn cables(&self) -> &[Veth] {
        &self.cables
    }

    /// The end of a cable by its names.
    ///
    /// # Errors
    /// When no plan named it.
    pub fn end(&self, place: &str, interface: &str) -> Result<&End, Error> {
        self.cables
            .iter()
            .rev()
            .flat_map(|cable| [&cable.a, &cable.b])
            .find(|end| end.namespace.own_name() == place && end.interface == interface)
            .ok_or_else(|| Error::NoPlace(format!("interface {interface} in {place}")))
    }

    /// Sets every cable's end in a namespace down and up again, and restores the addresses, routes
    /// and neighbours that go with that.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn flap(&self, place: &str) -> Result<(), Error> {
        let mut lines = String::new();
        for end in self.cables.iter().flat_map(|cable| [&cable.a, &cable.b]) {
            if end.namespace.own_name() == place {
                let _ = writeln!(lines, "link set {} down", end.interface);
            }
        }
        let planned = self.places.iter().filter(|known| known.is(place));
        lines.extend(planned.map(|place| place.lines.as_str()));
        self.namespace(place)?.batch(&lines, OnFailure::Stop)
    }
}

impl Place {
    fn is(&self, name: &str) -> bool {
        self.namespace.own_name() == name
    }
}

#[cfg(test)]
#[path = "../tests/unit/bed.rs"]
mod tests;
