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

#[cfg(test)]
mod tests {
    use host::topology::{Cache, Core};

    use super::*;

    /// Two packages of two cores with two threads each, numbered as Linux does: 0-3 first threads,
    /// 4-7 second threads.
    fn machine() -> Topology {
        let ids = |list: &[u32]| list.iter().map(|&n| CoreId(n)).collect::<Vec<_>>();
        let cores = (0..8_u32)
            .map(|n| {
                let package = (n % 4) / 2;
                let shared_by = ids(&[
                    2 * package,
                    2 * package + 1,
                    2 * package + 4,
                    2 * package + 5,
                ]);
                Core {
                    id: CoreId(n),
                    package,
                    threads: ids(&[n % 4, n % 4 + 4]),
                    caches: vec![Cache {
                        level: 3,
                        kind: "Unified".into(),
                        bytes: 1 << 25,
                        shared_by,
                    }],
                    node: Some(package),
                }
            })
            .collect();
        Topology { cores }
    }

    #[test]
    fn own_cores_come_before_second_threads_and_near_before_far() {
        let all: Vec<CoreId> = [7, 6, 5, 4, 3, 2, 1, 0].map(CoreId).to_vec();
        let ordered = order(&machine(), &all);
        assert_eq!(
            ordered.iter().map(|c| c.0).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
        let marks: Vec<_> = boundaries(&machine(), &ordered)
            .into_iter()
            .map(|b| (b.cores, b.what))
            .collect();
        assert_eq!(
            marks,
            [
                (3, "cores of another node".to_owned()),
                (5, "second thread of a core".to_owned()),
                (7, "cores of another node".to_owned())
            ]
        );
    }

    #[test]
    fn a_second_thread_whose_first_is_not_allowed_is_a_core_of_its_own() {
        let ordered = order(&machine(), &[CoreId(1), CoreId(4)]);
        assert_eq!(ordered, [CoreId(1), CoreId(4)]);
        assert_eq!(boundaries(&machine(), &ordered), []);
    }
}
