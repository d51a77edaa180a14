//! Which nodes have other routes than the others, and which these are.
//!
//! Three questions to two nodes find them in a table of any size: the digests of both tables are
//! there already, then come those of their ranges, then the routes of ranges that differ.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use router::control_plane::digest::RANGES;
use router::management_plane::node::{
    Addresses, Asked, By, LISTED_AT_ONCE, Listed, NODE_RANGES, NODE_ROUTES, Node, Ranges,
};
use serde::Serialize;

use super::ask::{Host, ask};

/// Nodes whose table differs from that of the most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Difference {
    /// The nodes, which have the same among themselves.
    pub(super) nodes: Vec<String>,
    /// One that has what the most have.
    pub(super) from: String,
    pub(super) table: u32,
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) family: Addresses,
    /// In how many routes.
    pub(super) routes: usize,
    /// There are more, in parts of the table that were not looked at.
    pub(super) more: bool,
    /// One of them.
    pub(super) example: Option<Example>,
    /// Why the routes are not known.
    pub(super) error: Option<String>,
}

/// A route that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Example {
    pub(super) prefix: String,
    /// Where the nodes' goes; absent: they have none.
    pub(super) here: Option<String>,
    /// Where that of the most goes.
    pub(super) there: Option<String>,
}

/// A table of a node.
type Key = (u32, Addresses);

/// Tables by node: its digest, or nothing where the node lacks the table.
fn digest(node: &Node, (table, family): Key, by: By) -> &str {
    let same = node
        .tables
        .iter()
        .find(|one| (one.table, one.family) == (table, family));
    same.map_or("", |table| match by {
        By::Prefixes => &table.prefixes,
        By::Ways => &table.ways,
    })
}

/// What differs at both looks. While routes change, two nodes may differ for a moment.
pub(super) fn differences(
    before: &[(&Host, &Node)],
    after: &[(&Host, &Node)],
    by: By,
) -> Vec<Difference> {
    let tables = after.iter().flat_map(|(_, node)| &node.tables);
    let keys: BTreeSet<Key> = tables.map(|table| (table.table, table.family)).collect();
    let mut found = Vec::new();
    for key in keys {
        let was_alike = groups(before, key, by).len() <= 1;
        let mut groups = groups(after, key, by).into_iter();
        let Some(most) = groups.next().filter(|_| !was_alike) else {
            continue;
        };
        found.extend(groups.filter_map(|other| difference(&most, &other, key, by)));
    }
    found
}

/// Nodes with the same digest of a table, the most first.
fn groups<'a>(nodes: &[(&'a Host, &Node)], key: Key, by: By) -> Vec<Vec<&'a Host>> {
    let mut groups: BTreeMap<&str, Vec<&Host>> = BTreeMap::new();
    let place = |host: &Host| nodes.iter().position(|(other, _)| *other == host);
    for (host, node) in nodes {
        groups.entry(digest(node, key, by)).or_default().push(host);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| (usize::MAX - group.len(), place(group[0])));
    groups
}

fn difference(most: &[&Host], other: &[&Host], key: Key, by: By) -> Option<Difference> {
    let (table, family) = key;
    let (mut difference, found) = (
        Difference {
            nodes: other.iter().map(ToString::to_string).collect(),
            from: most[0].to_string(),
            table,
            family,
            routes: 0,
            more: false,
            example: None,
            error: None,
        },
        routes(most[0], other[0], key, by),
    );
    match found {
        // Alike by now.
        Ok((routes, false)) if routes.is_empty() => return None,
        Ok((mut routes, more)) => {
            difference.more = more;
            difference.routes = routes.len();
            difference.example = (!routes.is_empty()).then(|| routes.swap_remove(0));
        }
        Err(error) => difference.error = Some(error),
    }
    Some(difference)
}

/// Asks both at once: of a large table each takes a while.
fn both<T: Send>(
    there: &Host,
    here: &Host,
    ask: impl Fn(&Host) -> Result<T, String> + Sync,
) -> Result<(T, T), String> {
    thread::scope(|scope| {
        let of_there = scope.spawn(|| ask(there));
        let of_here = ask(here);
        let of_there = of_there.join();
        let of_there = of_there.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((of_there?, of_here?))
    })
}

/// The routes in which `here` differs, and whether there may be more.
fn routes(there: &Host, here: &Host, key: Key, by: By) -> Result<(Vec<Example>, bool), String> {
    let ranges = |host: &Host| {
        let path = Asked::ranges(key.0, key.1, by).path();
        let Ranges { ranges, .. } = ask(host, &path, NODE_RANGES)?;
        let count = ranges.len();
        let whole = (count == RANGES).then_some(ranges);
        whole.ok_or_else(|| format!("{host}: its answer is malformed: {count} ranges"))
    };
    let (of_there, of_here) = both(there, here, ranges)?;
    let pairs = of_there.iter().zip(&of_here).enumerate();
    let differ: Vec<usize> = pairs
        .filter(|(_, (a, b))| a != b)
        .map(|(at, _)| at)
        .collect();
    if differ.is_empty() {
        return Ok((Vec::new(), false));
    }
    let more = differ.len() > LISTED_AT_ONCE;
    let some: Vec<usize> = differ.into_iter().take(LISTED_AT_ONCE).collect();
    let path = Asked::routes(key.0, key.1, some).path();
    let listed = |host: &Host| ask::<Listed>(host, &path, NODE_ROUTES).map(|all| all.routes);
    let (of_there, of_here) = both(there, here, listed)?;
    let prefixes: BTreeSet<&String> = of_there.keys().chain(of_here.keys()).collect();
    let pairs = prefixes.into_iter().map(|prefix| Example {
        prefix: prefix.clone(),
        here: of_here.get(prefix).cloned(),
        there: of_there.get(prefix).cloned(),
    });
    let differs = |one: &Example| match by {
        By::Prefixes => one.here.is_some() != one.there.is_some(),
        By::Ways => one.here != one.there,
    };
    Ok((pairs.filter(differs).collect(), more))
}
