//! Which settings would make ports forward faster, and why: from facts alone.
//!
//! What would hurt is not proposed. A virtual device has no interrupts, and its queues cost
//! nothing, so they only become more. One queue cannot be spread; one core needs no spreading.
//! Rings only become larger. A setting that the driver does not show is left alone.

use host::CoreId;
use host::card::{Coalescing, Queues, Rings};

use crate::facts::{Entry, Machine, Port};
use crate::setting::{
    Change, Setting, coalescing_text, cores_text, key_text, queues_text, rings_text, switch_text,
    table_text,
};

/// Places of a ring that hold a burst of a millisecond at a million frames a second.
const RING: u32 = 1024;
/// Shortest pause between interrupts that lets frames come in bursts, microseconds.
const PAUSE: u32 = 8;
/// The pause that is proposed, microseconds.
const BETTER_PAUSE: u32 = 16;
/// Frames that may wait for a device, the kernel's default.
const SEND_QUEUE: u32 = 1000;
/// The key of the examples that define the hash (Microsoft, "Verifying the RSS hash calculation").
const KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// The changes that would help, in the order in which they should be made.
pub fn changes(machine: &Machine, ports: &[Port]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut earlier = 0;
    for port in ports {
        let rules = Rules {
            cores: &machine.cores,
            port,
            earlier,
        };
        rules.apply(&mut changes);
        earlier += rules.wanted_queues().map_or(1, receiving);
    }
    changes
}

/// What the rules look at.
struct Rules<'a> {
    cores: &'a [CoreId],
    port: &'a Port,
    /// Receive queues of the ports before it: where its own begin among the cores.
    earlier: u32,
}

impl Rules<'_> {
    fn apply(&self, changes: &mut Vec<Change>) {
        let mut add = |setting, from: String, to: String, why| {
            if from != to {
                changes.push(Change {
                    port: self.port.name.clone(),
                    setting,
                    from,
                    to,
                    why,
                });
            }
        };
        self.queues(&mut add);
        self.rings(&mut add);
        self.coalescing(&mut add);
        // A veth whose frames nobody joins has no NAPI to be told about threads.
        self.threads(&mut add);
        self.joining(&mut add);
        self.spreading(&mut add);
        self.places(&mut add);
        self.waiting(&mut add);
    }

    fn queues(&self, add: &mut impl FnMut(Setting, String, String, &'static str)) {
        if let (Some((now, _)), Some(wanted)) = (self.port.queues, self.wanted_queues()) {
            let why = if receiving(wanted) < receiving(now) {
                "More queues than cores give each core more interrupts for fewer frames."
            } else {
                "One core receives what a queue gets, so each core needs one; new ones get cores."
            };
            add(Setting::Queues, queues_text(now), queues_text(wanted), why);
        }
    }

    /// A queue for each core, as far as the driver gives them.
    fn wanted_queues(&self) -> Option<Queues> {
        let (now, most) = self.port.queues?;
        let cores = self.cores.len() as u32;
        let fit = |now: u32, most: u32| {
            let wanted = cores.min(most);
            if self.port.has_device {
                wanted
            } else {
                wanted.max(now)
            }
        };
        Some(if most.combined > 0 {
            Queues {
                combined: fit(now.combined, most.combined),
                ..now
            }
        } else {
            Queues {
                receive: fit(now.receive, most.receive),
                send: fit(now.send, most.send),
                combined: 0,
            }
        })
    }

    fn rings(&self, add: &mut impl FnMut(Setting, String, String, &'static str)) {
        if let Some((now, most)) = self.port.rings {
            let wanted = Rings {
                receive: now.receive.max(RING.min(most.receive)),
                send: now.send.max(RING.min(most.send)),
            };
            let why = "A burst that finds no place in the ring is lost.";
            add(Setting::Rings, rings_text(now), rings_text(wanted), why);
        }
    }

    fn coalescing(&self, add: &mut impl FnMut(Setting, String, String, &'static str)) {
        let Some(now) = self.port.coalescing else {
            return;
        };
        if self.port.has_device && !now.adaptive && now.microseconds < PAUSE {
            let wanted = Coalescing {
                microseconds: BETTER_PAUSE,
                ..now
            };
            let (from, to) = (coalescing_text(now), coalescing_text(wanted));
            let why = "An interrupt for every few frames costs more than forwarding them.";
            add(Setting::Coalescing, from, to, why);
        }
    }

    fn threads(&self, add: &mut impl FnMut(Setting, String, String, &'static str)) {
        if let Some(now) = &self.port.threads {
            let why = "A thread waits for its turn, and its frames with it; a softirq does not.";
            add(Setting::NapiThreads, now.clone(), "0".to_owned(), why);
        }
    }

    fn joining(&self, add: &mut impl FnMut(Setting, String, String, &'static str)) {
        let port = self.port;
        let mut switch = |setting, now, wanted, why| {
            add(setting, switch_text(now), switch_text(wanted), why);
        };
        if port.lro {
            let why = "What the card joins cannot be forwarded.";
            switch(Setting::Lro, true, false, why);
        }
        match port.entry {
            Entry::PacketSockets if port.gro => {
                let why = "Joined frames are too long for the workers, so the kernel gets them.";
                switch(Setting::Gro, true, false, why);
            }
            Entry::Tc if port.has_device && !port.gro => {
                let why = "A joined segment is looked up once instead of once a frame.";
                switch(Setting::Gro, false, true, why);
            }
            _ => {}
        }
    }

    fn spreading(&self, add: &mut impl FnMut(Setting, String, String, &'static str)) {
        let (Some(now), Some((queues, _))) = (&self.port.spreading, self.port.queues) else {
            return;
        };
        let queues = receiving(queues);
        // A driver makes its table anew when the number of queues changes.
        if queues < 2 || self.wanted_queues().map(receiving) != Some(queues) {
            return;
        }
        if !now.key.is_empty() && now.key.iter().all(|byte| *byte == 0) {
            let key: Vec<u8> = KEY.into_iter().cycle().take(now.key.len()).collect();
            let why = "With a key of zeros every frame has the same hash, so one queue gets all.";
            add(Setting::RssKey, key_text(&now.key), key_text(&key), why);
        }
        let share = |queue| now.table.iter().filter(|own| **own == queue).count();
        let shares = || (0..queues).map(share);
        let (least, most) = (shares().min(), shares().max());
        let is_equal = most
            .zip(least)
            .is_some_and(|(most, least)| most - least <= 1)
            && now.table.iter().all(|queue| *queue < queues);
        if !now.table.is_empty() && !is_equal {
            let why = "Queues with unequal shares leave some cores idle.";
            let wanted = format!("equal {queues}");
            add(Setting::RssTable, table_text(&now.table), wanted, why);
        }
    }

    /// Which core does what.
    fn places(&self, add: &mut impl FnMut(Setting, String, String, &'static str)) {
        let port = self.port;
        if self.cores.len() < 2 {
            return;
        }
        for interrupt in &port.interrupts {
            let place = (self.earlier + interrupt.queue) as usize % self.cores.len();
            let why = "The core that receives a queue should always be the same, each its own.";
            let setting = Setting::InterruptCores(interrupt.line);
            add(
                setting,
                interrupt.cores.clone(),
                self.cores[place].to_string(),
                why,
            );
        }
        if port.entry != Entry::Tc {
            return;
        }
        let sending = port.send_cores.len();
        for (queue, now) in (0..).zip(&port.send_cores).filter(|_| sending > 1) {
            let own = self.cores.iter().enumerate();
            let own = own.filter(|(place, _)| place % sending == queue);
            let own: Vec<CoreId> = own.map(|(_, core)| *core).collect();
            if !own.is_empty() {
                let why = "Cores that send by the same queue wait for its lock.";
                let setting = Setting::SendCores(queue as u32);
                add(setting, now.clone(), cores_text(&own), why);
            }
        }
        if let [now] = port.steer_cores.as_slice()
            && port.has_device
            && now == "none"
            && self
                .wanted_queues()
                .is_none_or(|queues| receiving(queues) == 1)
        {
            let why = "The card has one queue, so the kernel must spread its frames over cores.";
            let all = cores_text(self.cores);
            add(Setting::SteerCores(0), now.clone(), all, why);
        }
    }

    fn waiting(&self, add: &mut impl FnMut(Setting, String, String, &'static str)) {
        if let Some(now @ 1..SEND_QUEUE) = self.port.send_queue_length
            && self.port.has_device
            && self.port.entry == Entry::Tc
        {
            let why = "What finds no place before the device is lost.";
            let (from, to) = (now.to_string(), SEND_QUEUE.to_string());
            add(Setting::SendQueueLength, from, to, why);
        }
    }
}

fn receiving(queues: Queues) -> u32 {
    queues.receive + queues.combined
}

#[cfg(test)]
#[path = "../tests/unit/rules.rs"]
mod tests;
