//! Ports of crate `port`, with a device of somebody else's between them.

use fastpath::steer::Steer;
use port::{Burst, Pool, Port};

use super::{Link, Moved};

/// The tester's ports, in order.
pub struct Ports {
    /// What they are, for the report.
    kind: &'static str,
    list: Vec<Box<dyn Port>>,
    /// What lies between them, for the report.
    between: String,
    /// Programs that give the frames of an interface to its port; they go when the ports have
    /// gone.
    steers: Vec<Steer>,
}

impl Ports {
    /// Takes the ports over; port 0 sends in a one-way test. `kind` and `between` are words for the
    /// report.
    pub fn new(kind: &'static str, ports: Vec<Box<dyn Port>>, between: &str) -> Self {
        Self {
            kind,
            list: ports,
            between: between.to_owned(),
            steers: Vec::new(),
        }
    }

    /// Keeps the programs that steer frames to the ports.
    #[must_use]
    pub fn steered_by(mut self, steers: Vec<Steer>) -> Self {
        self.steers = steers;
        self
    }
}

impl Link for Ports {
    fn ports(&self) -> u8 {
        self.list.len() as u8
    }

    fn transmit(&mut self, port: u8, pool: &mut Pool, burst: &mut Burst, _: u64) -> Moved {
        self.list[usize::from(port)].transmit(pool, burst)
    }

    fn receive(&mut self, port: u8, pool: &mut Pool, burst: &mut Burst, _: u64) -> Moved {
        self.list[usize::from(port)].receive(pool, burst)
    }

    fn missed(&mut self) -> u64 {
        self.list.iter_mut().map(|port| port.missed()).sum()
    }

    fn describe(&self) -> String {
        let names: Vec<&str> = self.list.iter().map(|port| port.name()).collect();
        let steered: Vec<String> = self
            .steers
            .iter()
            .map(|steer| format!(" ({} XDP)", steer.mode()))
            .collect();
        let names: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(place, name)| format!("{name}{}", steered.get(place).map_or("", String::as_str)))
            .collect();
        format!(
            "{} on {} through {}",
            self.kind,
            names.join(", "),
            self.between
        )
    }
}
