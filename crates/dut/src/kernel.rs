//! Engine `kernel`: Linux's own forwarding, the baseline of every engine between interfaces.

use std::net::IpAddr;
use std::time::Duration;

use fib::{Address, Prefix};
use host::Namespace;
use host::netlink::routes::{self, Route};
use tester::result::Entry;
use tester::sizes::Family;
use tester::veth::lanes::{
    Lanes, Load, NEXT_HOPS, Pace, next_hop_address, next_hop_address_v6, next_hop_back,
    next_hop_back_v6,
};

use crate::case::{Case, Sample};
use crate::device::{Abilities, Device, Setting};
use crate::error::Error;
use crate::kind::Kind;
use crate::offer::Wanted;
use crate::routes::Routes;
use crate::tally::Tally;

struct Kernel {
    lanes: Lanes,
    load: Load,
    cores: usize,
    tally: Tally,
}

/// Makes the namespaces and loads the routing table into the kernel's.
///
/// # Errors
/// When a namespace cannot be made or a route is refused.
pub fn open(setting: &Setting) -> Result<Box<dyn Device>, Error> {
    let lanes = setting.lanes("kernel")?;
    load(lanes.dut(), setting)?;
    load_back(lanes.dut(), setting)?;
    Ok(Box::new(Kernel {
        lanes,
        load: Load::default(),
        cores: setting.cores.len(),
        tally: Tally::default(),
    }))
}

impl Device for Kernel {
    fn abilities(&self) -> Abilities {
        Abilities::between_interfaces(vec![Kind::Kernel], self.cores)
    }

    fn method(&self) -> String {
        format!(
            "Linux's own forwarding between two veth pairs, the same routes in its table. A \
             program inside the kernel makes the frames, on the core that forwards and counts \
             them, so the generator's share is in every figure. It makes the next ones when those \
             before are through. {}",
            self.tally.sentence()
        )
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let wanted = (case.frame_bytes, case.cores());
        let carried = self.load.carry(&self.lanes, wanted, Pace::Call, trial)?;
        self.tally.add(&carried)?;
        Ok(Sample {
            frames_per_second: carried.frames_per_second,
            changes_per_second: 0.0,
            counted: carried.counted,
        })
    }

    fn search(&mut self, case: &Case, wanted: &Wanted) -> Result<Entry, Error> {
        let searched = (case.frame_bytes, case.cores());
        wanted.on_lanes(&self.lanes, &mut self.load, searched, Pace::Call)
    }
}

/// Puts every route of the frames' family into the kernel's table, next hops given out at random.
///
/// # Errors
/// When a route is refused.
pub fn load(dut: &Namespace, setting: &Setting) -> Result<(), Error> {
    let v4 = |number| next_hop_address(number).into();
    let v6 = |number| next_hop_address_v6(number).into();
    put(dut, setting, &setting.routes, (v4, v6))
}

/// Puts the routes of the frames that come back into the kernel's table, where there are any.
///
/// # Errors
/// When a route is refused.
pub fn load_back(dut: &Namespace, setting: &Setting) -> Result<(), Error> {
    let Some(back) = &setting.back else {
        return Ok(());
    };
    let v4 = |number| next_hop_back(number).into();
    let v6 = |number| next_hop_back_v6(number).into();
    put(dut, setting, back, (v4, v6))
}

/// What gives the address of a next hop by its number.
type Hop = fn(u16) -> IpAddr;

/// Puts the routes of the frames' family into the kernel's table.
fn put(
    dut: &Namespace,
    setting: &Setting,
    routes: &Routes,
    (v4, v6): (Hop, Hop),
) -> Result<(), Error> {
    let prefixes = &routes.prefixes;
    match setting.family {
        Family::Ipv4 => give(dut, &prefixes.v4, v4, setting.seed),
        Family::Ipv6 => give(dut, &prefixes.v6, v6, setting.seed),
    }
}

/// A route for each prefix.
fn give<A: Address>(
    dut: &Namespace,
    prefixes: &[Prefix<A>],
    hop: Hop,
    seed: u64,
) -> Result<(), Error> {
    let next_hops = fib::generated::next_hops(seed, prefixes.len(), NEXT_HOPS);
    let routes = prefixes.iter().zip(next_hops);
    // A whole table takes seconds: a signal ends it early.
    let routes = routes.take_while(|_| host::cleanup::check().is_ok());
    let routes = routes.map(|(prefix, next_hop)| Route {
        prefix: (prefix.address().to_ip(), prefix.length()),
        gateway: hop(next_hop.0),
    });
    let refusals = dut.enter(|| routes::add(routes))??;
    host::cleanup::check()?;
    match refusals.first() {
        None => Ok(()),
        Some(first) => Err(format!(
            "the kernel refused {} of {} routes: {first}",
            refusals.len(),
            prefixes.len()
        )
        .into()),
    }
}
