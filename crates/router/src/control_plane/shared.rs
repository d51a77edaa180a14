//! What both address families share: the numbers of next hops, nexthop objects, the domains; and
//! the next hop that packets get by a way.

use fib::NextHop;

use super::model::{DEFAULT_TABLE, Hop, LOCAL_TABLE, RouteKind, Way};
use super::next_hops::{Content, NextHops};
use super::objects::Objects;
use super::surroundings::HopKey;
use crate::engine::{Change, MAIN_TABLE, fixed};

/// What both families share while one of them changes.
#[derive(Debug)]
pub struct Shared {
    /// Numbers of next hops; the surroundings they are made of; what the engine must do.
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

    /// One more thing that the engine must do.
    pub fn push(&mut self, change: Change) {
        self.next_hops.changes.push(change);
    }

    /// The next hop of a way, with one use held, and the link on which its destinations are, if
    /// they are on one. A multipath route spreads flows as `before` did, as far as it can.
    pub fn resolve(&mut self, way: &Way, v6: bool, before: NextHop) -> (NextHop, Option<u32>) {
        if way.object != 0 && way.mtu != 0 {
            self.objects.size(way.object, &mut self.next_hops);
        }
        let id = match way.kind {
            _ if way.special => fixed::PUNT,
            RouteKind::Local => fixed::LOCAL,
            RouteKind::Kernel => fixed::PUNT,
            RouteKind::Blackhole => fixed::BLACKHOLE,
            RouteKind::Unreachable => fixed::UNREACHABLE,
            RouteKind::Prohibit => fixed::PROHIBIT,
            RouteKind::Unicast if way.object != 0 && way.mtu != 0 => fixed::PUNT,
            RouteKind::Unicast if way.object != 0 => {
                self.objects.hold(way.object, &mut self.next_hops)
            }
            RouteKind::Unicast => return self.unicast(way, v6, before),
        };
        (id, None)
    }

    fn unicast(&mut self, way: &Way, v6: bool, before: NextHop) -> (NextHop, Option<u32>) {
        let key = |hop: &Hop| {
            let (link, mtu) = (hop.link, way.mtu);
            let gateway = hop.gateway?;
            Some(Content::Hop(HopKey { link, gateway, mtu }))
        };
        let gateways: Option<Vec<Content>> = way.hops().iter().map(key).collect();
        let ids = gateways.unwrap_or_default().into_iter();
        let ids: Vec<NextHop> = ids
            .map(|hop| self.next_hops.share(hop, NextHop::NONE))
            .collect();
        match (way.hops(), ids.as_slice()) {
            // A route with its own MTU to a connected network is rare enough for the kernel to
            // serve.
            ([hop], []) if way.mtu == 0 => {
                let here = Content::Hop(HopKey::on_link(hop.link));
                (self.next_hops.share(here, NextHop::NONE), Some(hop.link))
            }
            (_, []) => (fixed::PUNT, None),
            (_, [id]) => (*id, None),
            (hops, _) => {
                let weights = hops.iter().map(|hop| hop.weight);
                let members = ids.iter().copied().zip(weights).collect();
                let group = self
                    .next_hops
                    .share(Content::Multipath { v6, members }, before);
                // The group holds its members itself.
                for id in ids {
                    self.next_hops.release(id);
                }
                (group, None)
            }
        }
    }
}
