//! To which node the kernel itself sends flows: it is asked for the route of each, in a namespace
//! whose group of next hops is that of a spreader.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use figures::Random;
use host::Namespace;
use host::bed::{Bed, side};
use host::namespace::OnFailure;
use host::temporary::{self, Directory};

use crate::forecast::{BUCKETS, Group, imbalance};
use crate::program::run;
use crate::resilient::GROUP;
use crate::{Failure, SERVICE};

/// Flows in all that are asked for one number of nodes, so that it takes a second and not minutes.
const FLOWS: u32 = 40_000;
/// Spreads at most, and at least.
const SPREADS: (u32, u32) = (40, 10);
/// How long `ip` may take for the flows of one spread.
const PATIENCE: Duration = Duration::from_secs(30);

/// A spreader without traffic.
#[derive(Debug)]
pub struct Spreader {
    group: Group,
    flows: u32,
    random: Random,
    files: Directory,
    bed: Bed,
}

impl Spreader {
    /// Its namespace, with next hops for so many nodes.
    ///
    /// # Errors
    /// Without root or `ip`.
    pub fn lay(group: Group, nodes: u32, flows: u32, seed: u64) -> Result<Self, Failure> {
        temporary::sweep_leftovers();
        let bed = Bed::plan()
            .forwarding("spreader")
            .set("spreader", "net.ipv4.fib_multipath_hash_policy", "1")
            .cable(
                side("source", "e").address("198.18.0.2/16"),
                side("spreader", "in").address("198.18.0.1/16"),
            )
            .cable(
                side("spreader", "out").address("198.19.0.1/16"),
                side("nodes", "e").address("198.19.0.2/16"),
            )
            .lay()?;
        let hops = (1..=nodes).fold(String::new(), |mut lines, node| {
            let id = GROUP + node;
            let _ = writeln!(lines, "nexthop add id {id} via {} dev out", gateway(node));
            lines
        });
        bed.namespace("spreader")?.batch(&hops, OnFailure::Stop)?;
        Ok(Self {
            group,
            flows,
            random: Random::new(seed),
            files: Directory::new("spread")?,
            bed,
        })
    }

    /// The imbalance of some spreads of flows with random addresses and ports over so many nodes.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn imbalances(&mut self, nodes: u32) -> Result<Vec<f64>, Failure> {
        let spreader = self.bed.namespace("spreader")?.clone();
        let members = (1..=nodes).map(|node| (GROUP + node).to_string());
        let members = members.collect::<Vec<_>>().join("/");
        let kind = match self.group {
            Group::Resilient => {
                format!(" type resilient buckets {BUCKETS} idle_timer 10 unbalanced_timer 0")
            }
            Group::Plain => String::new(),
        };
        let lines = format!(
            "nexthop add id {GROUP} group {members}{kind}\nroute add {SERVICE} nhid {GROUP}\n"
        );
        spreader.batch(&lines, OnFailure::Stop)?;
        let spreads = (FLOWS / self.flows).clamp(SPREADS.1, SPREADS.0);
        let found = (0..spreads)
            .map(|_| self.spread(&spreader, nodes))
            .collect();
        let lines = format!("route del {SERVICE} nhid {GROUP}\nnexthop del id {GROUP}\n");
        spreader.batch(&lines, OnFailure::Stop)?;
        found
    }

    fn spread(&mut self, spreader: &Namespace, nodes: u32) -> Result<f64, Failure> {
        let mut lines = String::new();
        for _ in 0..self.flows {
            let mut below = |bound| self.random.below(bound);
            let (to, port) = (1 + below(254), 1024 + below(64_000));
            let (high, low) = (below(256), 3 + below(250));
            let _ = writeln!(
                lines,
                "route get 203.0.113.{to} from 198.18.{high}.{low} iif in ipproto udp sport {port} dport 4789"
            );
        }
        let file = self.files.path().join("flows");
        fs::write(&file, lines)?;
        let mut command = spreader.command("ip");
        let (status, said) = run(command.arg("-batch").arg(&file), PATIENCE)?;
        if !status.success() {
            return Err(
                format!("ip route get: {said}; iproute2 of 2021 or later is needed").into(),
            );
        }
        let mut counts = vec![0; nodes as usize];
        let words: Vec<&str> = said.split(' ').collect();
        for (node, count) in (1..).zip(&mut counts) {
            let gateway = gateway(node);
            let hops = words.windows(2);
            *count = hops
                .filter(|pair| pair[0] == "via" && pair[1] == gateway)
                .count() as u32;
        }
        let sum: u32 = counts.iter().sum();
        if sum != self.flows {
            return Err(format!(
                "of {} flows the kernel sends {sum} to a node: see ip route get in a namespace",
                self.flows
            )
            .into());
        }
        Ok(imbalance(&counts))
    }
}

fn gateway(node: u32) -> String {
    format!("198.19.{node}.2")
}
