//! What both address families share: the surroundings, the numbers of next hops, the domains.

use super::model::{DEFAULT_TABLE, LOCAL_TABLE};
use super::next_hops::NextHops;
use super::objects::Objects;
use super::surroundings::Surroundings;
use crate::engine::MAIN_TABLE;

/// What both families share while one of them changes.
#[derive(Debug)]
pub struct Shared {
    /// Links, ports, neighbours.
    pub around: Surroundings,
    /// Numbers of next hops.
    pub next_hops: NextHops,
    /// Nexthop objects.
    pub objects: Objects,
    /// Tables in which ports look up; [`MAIN_TABLE`] is always among them.
    pub domains: Vec<u32>,
}

impl Shared {
    /// Does a change in kernel table `table` show in `domain`?
    pub fn shows(table: u32, domain: u32) -> bool {
        table == LOCAL_TABLE || table == domain || (table == DEFAULT_TABLE && domain == MAIN_TABLE)
    }
}
