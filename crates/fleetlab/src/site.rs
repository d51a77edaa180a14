//! The place: cables, the spreader, the nodes, the traffic.
//!
//! 198.18.0.0/24 leads from the source to the spreader, 198.18.N.0/24 from there to node N, and
//! 198.19.N.0/24 from there to its sink, which has the service's address.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use host::bed::{Bed, Plan, side};
use host::offload::Offload;
use host::temporary::{self, Directory};

use crate::count::{carriers, figures};
use crate::daemon::{Daemon, log};
use crate::event::{Forwarder, State};
use crate::measure::Options;
use crate::node::Node;
use crate::notice::Notices;
use crate::program::{pause, wait};
use crate::resilient::Resilient;
use crate::traffic::{self, Flood, STRAGGLERS, Traffic, now};
use crate::{Failure, SERVICE};

/// How long flows may take until all go by the nodes that carry them, and none is lost.
const PATIENCE: Duration = Duration::from_mins(1);
/// Flows of a thread that floods, so that each node gets some.
const FLOOD_FLOWS: usize = 64;
/// So long must that hold: as long as BFD waits.
const LEAD: Duration = Duration::from_millis(300);
/// Of so long, ns, are the frames by which it is seen.
const GLANCE: u64 = 100_000_000;
/// For so long, ns, must nothing be lost until an event is over: longer than BFD waits.
const CALM: u64 = 500_000_000;
/// Between two looks at them: a look keeps sender and receivers waiting.
const LOOK: Duration = Duration::from_millis(20);

/// Since when all has been well.
#[derive(Clone, Copy, Debug)]
pub struct Calm {
    /// Since then, ns.
    pub from: u64,
    /// Frames that the kernels of all nodes had forwarded by then.
    pub by_kernel: u64,
}

/// What a run needs; dropped in this order.
#[derive(Debug)]
pub struct Site {
    /// The frames.
    pub traffic: Traffic,
    /// The nodes, number 1 first.
    pub nodes: Vec<Node>,
    /// What the spreader noticed.
    pub notices: Notices,
    group: Option<Arc<Resilient>>,
    _wells: Vec<UdpSocket>,
    _spreader: Daemon,
    bed: Bed,
    _files: Directory,
}

impl Site {
    /// Lays the cables, starts all programs, and the traffic from the source port `port` on.
    ///
    /// # Errors
    /// Without root, `ip` or the daemon, or when a program does not start.
    pub fn lay(options: &Options, port: u16) -> Result<Self, Failure> {
        temporary::sweep_leftovers();
        let files = Directory::new("fleetlab")?;
        let bed = plan(options.nodes).lay()?;
        let at_spreader = files.path().join("spreader");
        std::fs::create_dir(&at_spreader)?;
        let log = log(&at_spreader);
        let spreader = bed.namespace("spreader")?;
        let group = options
            .resilient
            .then(|| Arc::new(Resilient::new(spreader)));
        let notices = Notices::start(spreader, &log, group.clone())?;
        let daemon = Daemon::of_spreader(
            options.daemon,
            spreader,
            &at_spreader,
            options.nodes,
            options.bfd_ms,
        )?;
        let (mut nodes, mut sinks, mut wells) = (Vec::new(), Vec::new(), Vec::new());
        for number in 1..=options.nodes {
            let name = format!("node{number}");
            let place = bed.namespace(&name)?;
            nodes.push(Node::start(
                number,
                place,
                files.path().join(&name),
                options,
            )?);
            let sink = bed.namespace(&format!("sink{number}"))?;
            sinks.push(sink.enter(traffic::sink)??);
            wells.push(sink.enter(traffic::well)??);
        }
        let source = bed.namespace("source")?;
        let flows = source.enter(|| traffic::flows(port, options.flows))??;
        Ok(Self {
            traffic: Traffic::start(flows, sinks, options.rate),
            nodes,
            notices,
            group,
            _wells: wells,
            _spreader: daemon,
            bed,
            _files: files,
        })
    }

    /// Has Corelane forward in all nodes, or their kernels alone. Whoever changes is whole then.
    ///
    /// # Errors
    /// When a program does not do its part.
    pub fn forward_by(&mut self, forwarder: Forwarder) -> Result<(), Failure> {
        for node in &mut self.nodes {
            if node.forwarder() != forwarder {
                node.bring(State::Whole)?;
                node.forward_by(forwarder)?;
            }
        }
        Ok(())
    }

    /// Sends more than the nodes can take, by a thread for each core, through all of them.
    ///
    /// # Errors
    /// When there are no free ports.
    pub fn flood(&self) -> Result<Flood, Failure> {
        let source = self.bed.namespace("source")?;
        let cores = std::thread::available_parallelism()?.get();
        // 0: the kernel chooses a free port.
        let ports = || (0..FLOOD_FLOWS).map(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)));
        let sockets = || source.enter(|| ports().collect::<Result<Vec<_>, _>>());
        let senders = (0..cores).map(|_| Ok(sockets()??));
        Ok(Flood::start(senders.collect::<Result<_, Failure>>()?))
    }

    /// Waits until flows have gone for 300 ms by all nodes that carry them and by no other, and no frame
    /// was lost.
    ///
    /// # Errors
    /// When that does not come about, with what is.
    pub fn settle(&self) -> Result<Calm, Failure> {
        let carrying = self.nodes.iter().filter(|node| node.state().carries());
        let expected: BTreeSet<u8> = carrying.map(|node| node.number).collect();
        let mut said = String::new();
        let mut is_well = |from: u64, to: u64| {
            let flows = self.traffic.window(from, to).flows;
            let (seen, lost) = (carriers(&flows), figures(&flows, from, 0).lost);
            said.clear();
            let _ = write!(
                said,
                "flows go by the nodes {seen:?}, and {lost} frames are lost"
            );
            (seen == expected, lost == 0)
        };
        let (mut calm, mut renewed) = (None, 0);
        wait(PATIENCE, || {
            let until = now().saturating_sub(STRAGGLERS);
            let (is_spread, is_whole) = is_well(until - GLANCE, until);
            if is_spread && is_whole {
                let from = now();
                let by_kernel = self.forwarded_by_kernel()?;
                pause(LEAD)?;
                // The last ones are under way: they belong to the event.
                if is_well(from, now().saturating_sub(STRAGGLERS)) == (true, true) {
                    calm = Some(Calm { from, by_kernel });
                }
                return Ok(calm.is_some());
            }
            let group = self.group.as_ref().filter(|_| !is_spread);
            if let Some(group) = group.filter(|_| until - GLANCE > renewed)
                && group.nodes() == expected
            {
                group.renew()?;
                renewed = now();
            }
            pause(LOOK)?;
            Ok(false)
        })?;
        calm.ok_or_else(|| {
            let patience = PATIENCE.as_secs();
            format!(
                "after {patience} s {said}; {expected:?} should carry them: look whether the machine \
                 is busy, or give more --flows"
            )
            .into()
        })
    }

    /// Waits until no frame that was sent since `since`, ns, was lost for half a second, which is longer
    /// than BFD waits. False when it is not so within `limit`.
    ///
    /// # Errors
    /// [`Interrupted`](host::cleanup::Interrupted).
    pub fn calm_down(&self, since: u64, limit: Duration) -> Result<bool, Failure> {
        let mut calm_since = since;
        wait(limit, || {
            pause(LOOK)?;
            calm_since = self.traffic.last_lost(calm_since).unwrap_or(calm_since);
            Ok(now().saturating_sub(STRAGGLERS) >= calm_since + CALM)
        })
    }

    /// Frames that the kernels of all nodes have forwarded.
    ///
    /// # Errors
    /// As [`Node::forwarded_by_kernel`].
    pub fn forwarded_by_kernel(&self) -> Result<u64, Failure> {
        self.nodes.iter().map(Node::forwarded_by_kernel).sum()
    }
}

fn plan(nodes: u8) -> Plan {
    let mut plan = Bed::plan()
        .forwarding("spreader")
        // Flows are told apart by their ports, too.
        .set("spreader", "net.ipv4.fib_multipath_hash_policy", "1")
        .cable(
            side("source", "e")
                .address("198.18.0.2/24")
                .neighbour("198.18.0.1"),
            side("spreader", "in")
                .address("198.18.0.1/24")
                .neighbour("198.18.0.2"),
        )
        .ip("source", "route replace default via 198.18.0.1");
    for number in 1..=nodes {
        let (node, sink) = (format!("node{number}"), format!("sink{number}"));
        let (up, down) = (format!("198.18.{number}"), format!("198.19.{number}"));
        let cable = |place: &str, interface: &str, network: &str, own: u8| {
            // A veth takes redirected frames only when its peer aggregates; without it, it throws
            // away what waits in it when its program goes.
            side(place, interface)
                .address(format!("{network}.{own}/24"))
                .neighbour(format!("{network}.{}", 3 - own))
                .switch(Offload::GenericReceive, true)
        };
        plan = plan
            .forwarding(&node)
            .cable(
                cable("spreader", &format!("s{number}"), &up, 1),
                cable(&node, "r0", &up, 2),
            )
            .cable(cable(&node, "r1", &down, 1), cable(&sink, "e", &down, 2))
            .ip(
                &sink,
                format!("addr replace {} dev lo", SERVICE.replace(".0/24", ".1/32")),
            )
            .ip(&sink, format!("route replace default via {down}.1"));
    }
    plan
}
