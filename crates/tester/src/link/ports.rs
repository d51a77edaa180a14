//! Ports of crate `port`, with a device of somebody else's between them.

use port::{Burst, Pool, Port, PortError};

use super::Link;

/// The tester's ports, in order.
pub struct Ports {
    ports: Vec<Box<dyn Port>>,
}

impl Ports {
    /// Takes the ports over; port 0 sends in a one-way test.
    pub fn new(ports: Vec<Box<dyn Port>>) -> Self {
        Self { ports }
    }
}

impl Link for Ports {
    fn ports(&self) -> u8 {
        self.ports.len() as u8
    }

    fn transmit(
        &mut self,
        port: u8,
        pool: &mut Pool,
        burst: &mut Burst,
        _: u64,
    ) -> Result<usize, PortError> {
        self.ports[usize::from(port)].transmit(pool, burst)
    }

    fn receive(
        &mut self,
        port: u8,
        pool: &mut Pool,
        burst: &mut Burst,
        _: u64,
    ) -> Result<usize, PortError> {
        self.ports[usize::from(port)].receive(pool, burst)
    }

    fn missed(&mut self) -> u64 {
        self.ports.iter_mut().map(|port| port.missed()).sum()
    }

    fn describe(&self) -> String {
        let names: Vec<&str> = self.ports.iter().map(|port| port.name()).collect();
        format!("sockets on {}", names.join(", "))
    }
}
