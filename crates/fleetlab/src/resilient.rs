//! A resilient group of next hops in the spreader's kernel, as `deploy/resilient-group` makes one:
//! when a node leaves, only its own flows move.
//!
//! The routing daemon knows nothing of it. Its route to the nodes says who takes part, and the
//! group's route goes before that one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use host::Namespace;
use host::namespace::OnFailure;

use crate::{Failure, SERVICE};

/// The group's number; members have the numbers behind it.
pub const GROUP: u32 = 1000;

/// The group, which follows the daemon's route.
#[derive(Debug)]
pub struct Resilient {
    namespace: Namespace,
    /// The gateways of the daemon's route, each with its interface.
    members: Mutex<BTreeMap<String, String>>,
}

impl Resilient {
    /// A group without members.
    pub fn new(spreader: &Namespace) -> Self {
        Self {
            namespace: spreader.clone(),
            members: Mutex::default(),
        }
    }

    /// Has the members of a route as `ip -oneline monitor` writes it, unless it was deleted.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn follow(&self, route: &str) -> Result<(), Failure> {
        let found = members(route);
        if route.starts_with("Deleted") || found.is_empty() {
            return Ok(());
        }
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        *members = found;
        Ok(self.namespace.batch(&lines(&members), OnFailure::Stop)?)
    }

    /// The nodes that are members.
    pub fn nodes(&self) -> BTreeSet<u8> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.values().map(|interface| node(interface)).collect()
    }

    /// Makes it anew, so that a member that came gets its share of the flows at once.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn renew(&self) -> Result<(), Failure> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        if members.is_empty() {
            return Ok(());
        }
        let old = format!("route del {SERVICE} nhid {GROUP}\nnexthop del id {GROUP}\n");
        // There may be none yet.
        self.namespace.batch(&old, OnFailure::Continue)?;
        Ok(self.namespace.batch(&lines(&members), OnFailure::Stop)?)
    }
}

fn members(route: &str) -> BTreeMap<String, String> {
    let words: Vec<&str> = route.split_whitespace().collect();
    let hops = words.windows(4);
    let hops = hops.filter(|words| words[0] == "via" && words[2] == "dev");
    hops.map(|words| (words[1].to_owned(), words[3].to_owned()))
        .collect()
}

/// `s7` leads to node 7.
fn node(interface: &str) -> u8 {
    let number = interface.trim_start_matches('s').parse();
    number.unwrap_or(0)
}

fn lines(members: &BTreeMap<String, String>) -> String {
    let (mut lines, mut group) = (String::new(), Vec::new());
    for (gateway, interface) in members {
        // A member has the same number whoever else is there.
        let number = GROUP + u32::from(node(interface));
        let _ = writeln!(
            lines,
            "nexthop replace id {number} via {gateway} dev {interface}"
        );
        group.push(number.to_string());
    }
    let _ = write!(
        lines,
        "nexthop replace id {GROUP} group {} type resilient buckets 1024 idle_timer 10 \
         unbalanced_timer 0\nroute replace {SERVICE} nhid {GROUP}\n",
        group.join("/")
    );
    lines
}
