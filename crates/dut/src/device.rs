//! Devices as those who measure see them.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use fastpath::generate::Destinations;
use host::CoreId;
use tester::result::Entry;
use tester::sizes::Family;
use tester::veth::lanes::Lanes;

use crate::case::{Case, FRAME_SIZES, Sample};
use crate::error::Error;
use crate::kind::Kind;
use crate::offer::Wanted;
use crate::routes::Routes;

/// What devices are made from.
#[derive(Clone)]
pub struct Setting {
    /// The cores of the workers: worker n runs on the n-th.
    pub cores: Vec<CoreId>,
    /// The routing table and the destinations.
    pub routes: Arc<Routes>,
    /// Seed of everything random.
    pub seed: u64,
    /// Of the frames.
    pub family: Family,
    /// The same behind the entrance, where frames go both ways at once.
    pub back: Option<Arc<Routes>>,
    /// The core of a device that does not share its generator's; it is then sent more than it can
    /// take.
    pub apart: Option<CoreId>,
}

impl Setting {
    /// IPv4 frames one way, each core with its generator, worker and sink.
    pub fn new(cores: &[CoreId], routes: &Arc<Routes>, seed: u64) -> Self {
        Self {
            cores: cores.to_vec(),
            routes: Arc::clone(routes),
            seed,
            family: Family::Ipv4,
            back: None,
            apart: None,
        }
    }

    /// A generator and a sink on each core, and what a device needs between them.
    ///
    /// # Errors
    /// When namespaces cannot be made.
    pub fn lanes(&self, name: &str) -> Result<Lanes, Error> {
        let name = match self.family {
            Family::Ipv4 => name.to_owned(),
            Family::Ipv6 => format!("{name}-v6"),
        };
        let destinations = self.destinations(&self.routes)?;
        let lanes = match &self.back {
            None => Lanes::new(&name, &self.cores, destinations)?,
            Some(back) => {
                let back = self.destinations(back)?;
                Lanes::both_ways(&name, &self.cores, destinations, back)?
            }
        };
        lanes.dut().set("net.ipv4.ip_forward", "1")?;
        lanes.dut().set("net.ipv6.conf.all.forwarding", "1")?;
        Ok(lanes)
    }

    /// Those of the frames' family.
    fn destinations(&self, routes: &Routes) -> Result<Destinations, Error> {
        Ok(match self.family {
            Family::Ipv4 => {
                let all = routes.destinations.iter().copied();
                Destinations::V4(all.map(Ipv4Addr::from_bits).collect())
            }
            Family::Ipv6 => {
                let all = routes.destinations_v6(self.seed)?.into_iter();
                Destinations::V6(all.map(Ipv6Addr::from_bits).collect())
            }
        })
    }
}

/// What a device can be asked to do.
#[derive(Clone, Debug)]
pub struct Abilities {
    /// What it is, once for each table organisation that it knows.
    pub kinds: Vec<Kind>,
    /// The frame sizes, all or some of [`FRAME_SIZES`]; the smallest is among them.
    pub sizes: &'static [u32],
    /// How many workers it can run.
    pub most_workers: usize,
    /// Whether routes can change while it forwards.
    pub takes_changes: bool,
    /// Whether its rate without loss has to be searched for: that of its measurements is a closed
    /// loop's.
    pub searched: bool,
    /// Time of a measurement beyond its trial: warming up, making frames.
    pub overhead: Duration,
}

impl Abilities {
    /// Those of a device between interfaces, whose routes stay as they are.
    pub(crate) fn between_interfaces(kinds: Vec<Kind>, most_workers: usize) -> Self {
        Self {
            kinds,
            sizes: &FRAME_SIZES,
            most_workers,
            takes_changes: false,
            searched: true,
            // Making generators and emptying queues.
            overhead: Duration::from_millis(60),
        }
    }
}

/// Something that forwards frames and can be measured doing so.
pub trait Device {
    /// What it can be asked to do.
    fn abilities(&self) -> Abilities;

    /// What the reader of the report must know about how it was measured: one paragraph.
    fn method(&self) -> String;

    /// Measures a case of its own once, for about `trial`. A rate of 0: nothing came through.
    ///
    /// # Errors
    /// When the case cannot be measured: a core is refused, an interface has vanished, the user
    /// interrupts.
    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error>;

    /// Searches the highest rate at which a case loses nothing. Asked of devices that are
    /// [`Abilities::searched`] only.
    ///
    /// # Errors
    /// When it cannot be searched here.
    fn search(&mut self, case: &Case, wanted: &Wanted) -> Result<Entry, Error> {
        let _ = wanted;
        Err(format!("the engine {} offers no rates", case.kind.engine()).into())
    }
}
