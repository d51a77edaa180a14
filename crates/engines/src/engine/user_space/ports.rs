//! The ports of an engine in user space: they come, change and go, and what that means for the
//! sockets.

use std::time::Instant;

use fastpath::forward::PortSettings;

use super::{Attached, Sockets, UserSpace};
use crate::engine::{EngineError, Port};

impl<S: Sockets> UserSpace<S> {
    /// Number and settings of the port at `at` as workers want them: tables by their places. What
    /// is to be forwarded at all is the program's decision.
    pub(super) fn settings(&mut self, at: usize) -> Result<(u32, PortSettings), EngineError> {
        let port = &self.ports[at];
        let failed = |error| EngineError::new("setting up a port", error);
        let number = self.forwarder.place(port.ifindex).map_err(failed)?;
        let Some(told) = &port.told else {
            return Ok((number, PortSettings::default()));
        };
        let mut settings = told.settings.clone();
        let forwarder = &mut self.forwarder;
        // What finds no table is not let through.
        let mut place = |table: &mut u32| {
            let place = forwarder.table_place(*table);
            *table = place.unwrap_or(0);
            place.is_some()
        };
        settings.vlans.retain_mut(|vlan| place(&mut vlan.table));
        settings.enabled = place(&mut settings.table);
        Ok((number, settings))
    }

    /// Has the program let the port's frames through to the workers, as far as its settings say.
    pub(super) fn let_through(&mut self, port: &Port) -> Result<(), EngineError> {
        self.forwarder
            .set_port(port.ifindex, &port.settings)
            .map_err(|error| EngineError::new(format!("setting up port {}", port.name), error))
    }
}

impl<S: Sockets + 'static> UserSpace<S> {
    /// Sets a port up. One that cannot be is the kernel's, and is tried again.
    pub(super) fn port(&mut self, port: &Port) {
        let now = Instant::now();
        if self.failed.waits(port, now) {
            return;
        }
        let Err(error) = self.set_up(port) else {
            self.failed.succeeded(port);
            return;
        };
        // The others go on without it.
        self.give_up(port.ifindex);
        // The kernel will say that an interface is gone.
        if port.is_there() {
            self.failed.add(port, &error, now);
        }
    }

    /// A port is none any more.
    pub(super) fn forget(&mut self, name: &str, ifindex: u32) {
        self.failed.forget(name);
        self.give_up(ifindex);
    }

    /// Goes on without a port. Workers that have no sockets on it notice nothing.
    fn give_up(&mut self, ifindex: u32) {
        if !self.ports.iter().any(|one| one.ifindex == ifindex) {
            self.forwarder.detach(ifindex);
            return;
        }
        self.leave_out(ifindex);
        if self.opening.is_some() || !self.recovery.is_resting() {
            self.restart();
        }
    }

    fn set_up(&mut self, port: &Port) -> Result<(), EngineError> {
        let at = |this: &Self| {
            let mut ports = this.ports.iter();
            ports.position(|one| one.ifindex == port.ifindex)
        };
        if !port.settings.enabled && !port.is_there() {
            self.give_up(port.ifindex);
            return Ok(());
        }
        if at(self).is_none() {
            if !port.settings.enabled {
                return Ok(());
            }
            let old = self.ports.iter().find(|one| one.name == port.name);
            if let Some(old) = old.map(|old| old.ifindex) {
                self.give_up(old);
            }
            if self.opening.is_some() {
                // One at a time, so that it is known who stands in the way.
                self.failed.comes(port);
                return Ok(());
            }
            // Its frames are the kernel's meanwhile, and changes of routes do not wait for it.
            let request = self.request;
            let attached = self
                .forwarder
                .attach_soon(&port.name, port.ifindex, request);
            let Some(attached) = attached else {
                self.failed.comes(port);
                return Ok(());
            };
            let mut attached = Attached::of(&port.name, attached)?;
            attached.told = Some(port.clone());
            self.join(attached, port);
        }
        if self.joining() == Some(port.ifindex) {
            // It has neither failed nor succeeded yet.
            self.failed.comes(port);
        }
        let Some(at) = at(self) else {
            return Ok(());
        };
        if self.ports[at].told.as_ref() == Some(port) {
            return Ok(());
        }
        let was_down = self.ports[at].told.as_ref();
        let was_down = was_down.is_none_or(|told| !told.settings.enabled);
        self.ports[at].told = Some(port.clone());
        if self.opening.is_some() {
            if port.settings.enabled && was_down {
                // It may have been down when its sockets were opened.
                self.restart();
            }
            return Ok(());
        }
        if self.recovery.is_resting() {
            // The workers will find it when they are started.
            return Ok(());
        }
        if port.settings.enabled && !self.ports[at].open {
            // It was down when sockets were opened.
            self.restart();
            return Ok(());
        }
        let (number, settings) = self.settings(at)?;
        self.workers.set_port(number, &settings);
        self.let_through(port)
    }
}
