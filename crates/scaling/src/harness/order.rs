//! The order in which a sweep takes cores, and where a new kind of core begins.

use host::cores::CoreId;
use host::topology::Topology;

use crate::laws::segment::Boundary;

/// Puts `allowed` in the order of a sweep: one thread of every core before any second thread; among
/// those the cores that share a last-level cache together, within a node, within a package.
pub fn order(topology: &Topology, allowed: &[CoreId]) -> Vec<CoreId> {
    let mut keyed: Vec<_> = allowed
        .iter()
        .map(|&id| (place(topology, allowed, id), id))
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, id)| id).collect()
}

/// Core counts at which the `ordered` cores begin a second thread of a core, another node or
/// another last-level cache.
pub fn boundaries(topology: &Topology, ordered: &[CoreId]) -> Vec<Boundary> {
    let mut found = Vec::new();
    for (index, pair) in ordered.windows(2).enumerate() {
        let place = |id| place(topology, ordered, id);
        let (before, after) = (place(pair[0]), place(pair[1]));
        let what = if before.thread != after.thread {
            "second thread of a core"
        } else if before.package != after.package || before.node != after.node {
            "cores of another node"
        } else if before.cache != after.cache {
            "cores of another last-level cache"
        } else {
            continue;
        };
        found.push(Boundary {
            cores: index as u32 + 2,
            what: what.to_owned(),
        });
    }
    found
}

#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    thread: usize,
    package: u32,
    node: u32,
    cache: u32,
}

fn place(topology: &Topology, allowed: &[CoreId], id: CoreId) -> Place {
    let Some(core) = topology.core(id) else {
        return Place::default();
    };
    let last = core.caches.iter().max_by_key(|cache| cache.level);
    let before = |&&thread: &&CoreId| thread < id && allowed.contains(&thread);
    Place {
        thread: core.threads.iter().filter(before).count(),
        package: core.package,
        node: core.node.unwrap_or(0),
        cache: last
            .and_then(|cache| cache.shared_by.iter().min())
            .map_or(0, |first| first.0),
    }
}
