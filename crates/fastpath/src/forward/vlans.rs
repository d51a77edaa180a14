//! The VLANs of ports, as the programs know them: one place for each port and VLAN identifier.
//!
//! A place without a station is no VLAN. What stands there besides the station changes only when no
//! program can be about to read what it was: a VLAN that goes, or looks up elsewhere, rests until a
//! grace period is over. Its frames are the kernel's meanwhile.

use std::collections::BTreeMap;

use super::port::{PORT_WORDS, Port};
use super::{Forwarder, NotCarried};

/// Bits of a VLAN identifier.
const VID_BITS: u32 = 12;
/// Those bits of a key.
pub(super) const VID: u32 = (1 << VID_BITS) - 1;

/// The place of a VLAN in the programs' map.
pub(super) fn key(number: usize, vid: u16) -> u32 {
    (number as u32) << VID_BITS | u32::from(vid)
}

/// The place of the port that a VLAN is of.
pub(super) fn port_of(key: u32) -> usize {
    (key >> VID_BITS) as usize
}

/// Where its words begin.
fn at(key: u32) -> usize {
    PORT_WORDS * key as usize
}

impl Forwarder {
    /// Has the programs know these VLANs of a port, and no other; `left` have no room.
    pub(super) fn write_vlans(
        &mut self,
        number: usize,
        mut vlans: BTreeMap<u32, [u64; PORT_WORDS]>,
        left: usize,
    ) {
        let Some(port) = &mut self.ports[number] else {
            return;
        };
        port.vlans_left = left;
        let old = std::mem::take(&mut port.vlans);
        let rest = |words: &[u64; PORT_WORDS]| [words[1], words[3]];
        for (&key, words) in &old {
            if vlans.get(&key).map(rest) != Some(rest(words)) {
                self.remove_vlan(key, *words);
            }
        }
        let wanted = vlans.len();
        vlans.retain(|key, _| !self.resting_vlans.contains_key(key));
        for (&key, words) in &vlans {
            if old.get(&key) != Some(words) {
                for word in (0..PORT_WORDS).rev() {
                    self.vlan_words.write(at(key) + word, words[word]);
                }
            }
        }
        let is_new = vlans != old;
        if let Some(port) = &mut self.ports[number] {
            port.vlans_wait = vlans.len() < wanted;
            port.vlans = vlans;
        }
        if is_new {
            self.write_egresses(number);
        }
    }

    pub(super) fn remove_vlan(&mut self, key: u32, words: [u64; PORT_WORDS]) {
        self.vlan_words.write(at(key), 0);
        self.resting_vlans.insert(key, self.epoch + 1);
        let _gone = self.maps["egresses"].remove((words[1] >> 32) as u32);
    }

    /// Does what had to wait until running programs have ended, if they have: what finds no room
    /// may wait for them too. Call it now and then. True while something waits for nothing else.
    pub fn tend(&mut self) -> bool {
        let waits = |this: &Self| !this.resting_vlans.is_empty() || this.links.has_retired();
        if waits(self) || self.not_carried() != NotCarried::default() {
            self.settle();
        }
        waits(self)
    }

    /// Writes the VLANs that waited for programs to end, or for room.
    pub(super) fn write_waiting_vlans(&mut self) {
        let waits = |port: &Port| port.vlans_wait || port.vlans_left > 0;
        for number in 0..self.ports.len() {
            if self.ports[number].as_ref().is_some_and(waits) {
                self.write_settings(number);
            }
        }
    }
}
