//! An engine that forwards nothing and remembers everything: the control plane's tests look into
//! it.
//!
//! It holds answers in ordered maps and looks addresses up by trying every prefix length, so that
//! it is obviously right; and it checks the promises of `router::engine` on the way: no route to a
//! next hop that was never written, no release of one that routes still use.

use std::collections::{BTreeMap, BTreeSet};

use fib::{Address, NextHop, NextHopEntry, Prefix};

use router::engine::{Answers, Change, Counters, Engine, EngineError, Port, PortMode};

/// Forwarding state in plain maps. Keys of routes are (table, address, length).
#[derive(Debug, Default, Clone)]
pub(crate) struct Recording {
    /// IPv4 answers.
    pub(crate) v4: BTreeMap<(u32, u32, u8), NextHop>,
    /// IPv6 answers.
    pub(crate) v6: BTreeMap<(u32, u128, u8), NextHop>,
    /// Next hops that are not groups.
    pub(crate) next_hops: BTreeMap<u16, NextHopEntry>,
    /// Groups.
    pub(crate) groups: BTreeMap<u16, Vec<NextHop>>,
    /// Ports by interface index.
    pub(crate) ports: BTreeMap<u32, Port>,
    /// IPv4 sources that are the kernel's.
    pub(crate) own: BTreeSet<u32>,
    /// How many changes were applied.
    pub(crate) applied: u64,
    users: BTreeMap<u16, u64>,
}

impl Recording {
    /// An engine that has been told nothing.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn written(&self, change: &Change, id: NextHop) -> Result<(), EngineError> {
        let known = self.next_hops.contains_key(&id.0) || self.groups.contains_key(&id.0);
        if id == NextHop::NONE || known {
            return Ok(());
        }
        let why = "the next hop was never written";
        Err(EngineError::new(format!("{change:?}"), why))
    }

    fn count(&mut self, old: Option<NextHop>, new: NextHop) {
        if let Some(old) = old {
            *self.users.entry(old.0).or_default() -= 1;
        }
        if new != NextHop::NONE {
            *self.users.entry(new.0).or_default() += 1;
        }
    }

    fn one(&mut self, change: &Change) -> Result<(), EngineError> {
        let refuse = |why: &str| Err(EngineError::new(format!("{change:?}"), why));
        match change {
            Change::RouteV4 {
                table,
                prefix,
                next_hop,
            } => {
                let key = (*table, prefix.address(), prefix.length());
                self.written(change, *next_hop)?;
                let old = put(&mut self.v4, key, *next_hop);
                self.count(old, *next_hop);
            }
            Change::RouteV6 {
                table,
                prefix,
                next_hop,
            } => {
                let key = (*table, prefix.address(), prefix.length());
                self.written(change, *next_hop)?;
                let old = put(&mut self.v6, key, *next_hop);
                self.count(old, *next_hop);
            }
            Change::NextHop { id, entry } => {
                self.groups.remove(&id.0);
                self.next_hops.insert(id.0, *entry);
            }
            Change::Group { id, buckets } => {
                if buckets.is_empty()
                    || buckets
                        .iter()
                        .any(|member| !self.next_hops.contains_key(&member.0))
                {
                    return refuse("a bucket names nothing, or a group");
                }
                self.next_hops.remove(&id.0);
                self.groups.insert(id.0, buckets.clone());
            }
            Change::Release { id } => {
                if self.users.get(&id.0).is_some_and(|&users| users > 0) {
                    return refuse("routes still use it");
                }
                if self.groups.values().flatten().any(|member| member == id) {
                    return refuse("a group still uses it");
                }
                self.next_hops.remove(&id.0);
                self.groups.remove(&id.0);
            }
            Change::PortGone { ifindex, .. } => {
                self.ports.remove(ifindex);
            }
            Change::Port(port) => {
                self.ports.insert(port.ifindex, port.clone());
            }
            Change::TableGone { table } => {
                let of_table = |other: u32| other == *table;
                let v4 = self.v4.extract_if(.., |key, _| of_table(key.0));
                let v4: Vec<NextHop> = v4.map(|(_, next_hop)| next_hop).collect();
                let v6 = self.v6.extract_if(.., |key, _| of_table(key.0));
                for next_hop in v4.into_iter().chain(v6.map(|(_, next_hop)| next_hop)) {
                    *self.users.entry(next_hop.0).or_default() -= 1;
                }
            }
            Change::OwnAddresses(own) => self.own = own.iter().copied().collect(),
        }
        Ok(())
    }
}

fn put<K: Ord>(answers: &mut BTreeMap<K, NextHop>, key: K, next_hop: NextHop) -> Option<NextHop> {
    if next_hop == NextHop::NONE {
        answers.remove(&key)
    } else {
        answers.insert(key, next_hop)
    }
}

fn lookup<A: Address>(
    answers: &BTreeMap<(u32, A, u8), NextHop>,
    table: u32,
    address: A,
) -> NextHop {
    let covering = |length| Prefix::containing(address, length).address();
    let answer = |length| answers.get(&(table, covering(length), length));
    (0..=A::BITS)
        .rev()
        .find_map(answer)
        .copied()
        .unwrap_or(NextHop::NONE)
}

impl Engine for Recording {
    fn name(&self) -> &'static str {
        "recording"
    }

    fn modes(&self) -> Vec<PortMode> {
        self.ports
            .values()
            .map(|port| PortMode {
                port: port.name.clone(),
                mode: "none",
            })
            .collect()
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), EngineError> {
        for change in changes {
            self.one(change)?;
            self.applied += 1;
        }
        Ok(())
    }

    fn answers(&self) -> &dyn Answers {
        self
    }

    fn counters(&self) -> Result<Counters, EngineError> {
        Ok(Counters::default())
    }
}

impl Answers for Recording {
    fn lookup_v4(&self, table: u32, address: u32) -> NextHop {
        lookup(&self.v4, table, address)
    }

    fn lookup_v6(&self, table: u32, address: u128) -> NextHop {
        lookup(&self.v6, table, address)
    }

    fn next_hop(&self, id: NextHop) -> NextHopEntry {
        self.next_hops.get(&id.0).copied().unwrap_or_default()
    }

    fn buckets(&self, id: NextHop) -> Vec<NextHop> {
        self.groups.get(&id.0).cloned().unwrap_or_default()
    }

    fn memory(&self) -> u64 {
        0
    }
}
