//! What the kernel does to forwarded packets besides routing them. A fast path would go past it; so
//! the ports concerned stay with the kernel, and the log says why.
//!
//! Looked at: nftables chains on the way of forwarded packets, whoever else hooks into it (legacy
//! iptables tables and IPVS where the kernel does not list these), xfrm (`IPsec`) policies,
//! queueing disciplines that shape, tc filters, BPF programs at tc (tcx), and forwarding being
//! switched off. What an engine at tc sends passes the disciplines, so these do not count there.
//! Rules are not interpreted: any rule on the way counts for every port, because what a rule means
//! may depend on any other.
//!
//! Most of it the kernel announces: what is added counts at once, by the announcement itself, and a
//! thread looks at that part again. What it does not announce the thread looks at ten times a
//! second. The kernel answers some of the questions only when nobody else changes links, which may
//! take seconds; the control plane goes on meanwhile.

mod finding;
pub mod hooks;
mod known;
mod look;
pub mod netfilter;
pub mod traffic_control;
pub mod xfrm;

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use fastpath::forward::{Device, ReversePath};
use host::netlink::{Dumped, Message, NETFILTER, Protocol, ROUTE, Socket, XFRM};

use self::finding::unread;
pub use self::finding::{Finding, Scope, Treatment};
use self::known::Known;
use self::look::{Order, Parts, Seen, look};
use self::netfilter::Ruleset;
use self::traffic_control::Disciplines;
use self::xfrm::Policies;
use super::reader::Reader;
use super::settings::{Setting, Settings, Watched};
use crate::engine::MAIN_TABLE;

/// How often a dump is asked for that the kernel changed meanwhile.
const ATTEMPTS: u32 = 20;

/// How often the ports' devices are asked what they do, besides when their links change: a veth does
/// otherwise when its peer changes, and nobody announces that.
const DEVICES_INTERVAL: Duration = Duration::from_secs(1);

/// What is known, and the thread that looks.
#[derive(Debug)]
pub struct Guard {
    rules: Known<Ruleset>,
    policies: Known<Policies>,
    disciplines: Known<Disciplines>,
    unannounced: Vec<Finding>,
    /// Where the latest look at the links looked.
    links: Vec<Watched>,
    reader: Reader<Order, Seen>,
    /// When the devices were asked last.
    asked: Instant,
}

impl Guard {
    /// Listens from now on, in the calling thread's network namespace, and knows nothing yet.
    ///
    /// # Errors
    /// When the kernel refuses to announce something that it has.
    pub fn new() -> io::Result<Self> {
        let rules = listen(Some(NETFILTER), netfilter::NFNLGRP_NFTABLES)?;
        let policies = listen(Some(XFRM), xfrm::XFRMNLGRP_POLICY)?;
        let disciplines = listen(ROUTE, traffic_control::RTNLGRP_TC)?;
        Ok(Self {
            rules: Known::new("nftables rules", Treatment::Netfilter, rules),
            policies: Known::new("IPsec policies", Treatment::Ipsec, policies),
            disciplines: Known::new(
                "queueing disciplines and filters",
                Treatment::TrafficControl,
                disciplines,
            ),
            unannounced: Vec::new(),
            links: Vec::new(),
            reader: Reader::new("guard", look)?,
            asked: Instant::now(),
        })
    }

    /// Readable when there is something to take in.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let sockets = [
            self.rules.socket(),
            self.policies.socket(),
            self.disciplines.socket(),
        ];
        let sockets = sockets.into_iter().flatten().map(AsFd::as_fd);
        sockets.chain([self.reader.as_fd()])
    }

    /// Something has changed about the links: one is new, or its device does something else.
    pub fn want_links(&mut self) {
        self.disciplines.want();
        self.reader.want();
    }

    /// Takes in what was announced. True when it may be that more was found.
    pub fn hear(&mut self) -> bool {
        let heard = self.rules.hear() | self.policies.hear() | self.disciplines.hear();
        if heard {
            self.reader.want();
        }
        heard
    }

    /// Is the thread to look now?
    pub fn is_due(&self, now: Instant) -> bool {
        self.reader.is_due(now)
    }

    /// Has the thread look at these links. False when it cannot; then nobody knows what there is.
    pub fn look(&mut self, links: Vec<Watched>, now: Instant) -> bool {
        let links_too = self.disciplines.begin();
        let parts = Parts {
            netfilter: self.rules.begin(),
            ipsec: self.policies.begin(),
            disciplines: links_too,
            devices: links_too || now.saturating_duration_since(self.asked) >= DEVICES_INTERVAL,
        };
        if parts.devices {
            self.asked = now;
        }
        match self.reader.begin(Order { links, parts }, now) {
            Ok(()) => true,
            Err(error) => {
                self.fail(&error);
                false
            }
        }
    }

    /// Takes in what a look has found, if it is over; says then what the ports' devices do, by
    /// interface index, as far as that was asked.
    pub fn seen(&mut self) -> Option<Vec<(u32, Device)>> {
        match self.reader.answer() {
            Ok(seen) => seen.map(|seen| self.take(seen)),
            Err(error) => {
                self.fail(&error);
                Some(Vec::new())
            }
        }
    }

    /// As [`Guard::seen`], and waits for the look.
    pub fn wait(&mut self) -> Vec<(u32, Device)> {
        match self.reader.wait() {
            Ok(seen) => self.take(seen),
            Err(error) => {
                self.fail(&error);
                Vec::new()
            }
        }
    }

    fn take(&mut self, seen: Seen) -> Vec<(u32, Device)> {
        self.rules.end(seen.rules);
        self.policies.end(seen.policies);
        if let Some(Ok(_)) = &seen.disciplines {
            self.links = seen.links;
        }
        self.disciplines.end(seen.disciplines);
        self.unannounced = seen.unannounced;
        seen.devices
    }

    /// Nobody could look, so nobody knows what there is.
    fn fail(&mut self, error: &io::Error) {
        self.rules.fail(error);
        self.policies.fail(error);
        self.disciplines.fail(error);
    }

    /// All that is known, in no order.
    pub fn findings(&self) -> Vec<Finding> {
        let unknown = [
            self.rules.unknown(),
            self.policies.unknown(),
            self.disciplines.unknown(),
        ];
        let unknown = unknown.into_iter().flatten();
        let mut found: Vec<Finding> = unknown.chain(&self.unannounced).cloned().collect();
        self.rules.state.find(&mut found);
        self.policies.state.find(&mut found);
        self.disciplines.state.find(&self.links, &mut found);
        found
    }

    /// The links of which it is known what is done to their packets, by interface index.
    pub fn looked_at(&self) -> HashSet<u32> {
        self.links.iter().map(|link| link.index).collect()
    }
}

/// Does this say that the kernel has nobody to answer?
fn is_absent(error: &io::Error) -> bool {
    let codes = [libc::EINVAL, libc::EOPNOTSUPP, libc::EPROTONOSUPPORT];
    error
        .raw_os_error()
        .is_some_and(|code| codes.contains(&code))
}

/// A socket that hears what the kernel announces to a group. None when it has nobody to announce
/// anything.
fn listen(protocol: Option<Protocol>, group: u32) -> io::Result<Option<Socket>> {
    match Socket::open(protocol, &[group]) {
        Err(error) if is_absent(&error) => Ok(None),
        socket => socket.map(Some),
    }
}

/// A dump of one piece. Nothing when this kernel has nobody to answer.
///
/// # Errors
/// When it cannot be read: then nobody knows what there is.
fn list<T: Default>(
    protocol: Option<Protocol>,
    kind: u16,
    body: &[u8],
    take: impl Fn(&mut T, Message<'_>),
) -> io::Result<Option<T>> {
    let read = |mut socket: Socket| {
        whole(|all: &mut T| socket.dump(kind, body, |message| take(all, message)))
    };
    match Socket::open(protocol, &[]).and_then(read) {
        Err(error) if is_absent(&error) => Ok(None),
        all => all.map(Some),
    }
}

/// Reads until nothing has changed meanwhile.
fn whole<T: Default>(mut read: impl FnMut(&mut T) -> io::Result<Dumped>) -> io::Result<T> {
    for _ in 0..ATTEMPTS {
        let mut all = T::default();
        if read(&mut all)? == Dumped::Whole {
            return Ok(all);
        }
    }
    Err(io::Error::other("it changed while it was read, every time"))
}

/// What a link's settings say. `hides_tags`: can frames have lost a tag before the engine sees
/// them? `validates`: does the engine check sources itself?
pub fn settings(setting: &Setting, hides_tags: bool, validates: bool, found: &mut Vec<Finding>) {
    let (name, accepts) = (&setting.link.name, &setting.accepts);
    let mut say = |what: String, treatment| {
        found.push(Finding::new(Scope::Port(name.clone()), what, treatment));
    };
    if !accepts.v4 {
        let what = format!("IPv4 forwarding is off (sysctl net.ipv4.conf.{name}.forwarding=1)");
        say(what, Treatment::Setting);
    }
    if setting.believes {
        let what = format!(
            "redirects are believed, so all IPv4 is the kernel's (sysctl \
             net.ipv4.conf.{name}.accept_redirects=0 net.ipv4.conf.all.accept_redirects=0)"
        );
        say(what, Treatment::Setting);
    }
    if !accepts.v6 {
        let what = format!(
            "IPv6 forwarding is off, or IPv6 is (sysctl net.ipv6.conf.all.forwarding=1 \
             net.ipv6.conf.{name}.disable_ipv6=0)"
        );
        say(what, Treatment::Setting);
    }
    if hides_tags {
        let what = format!(
            "VLAN tags may be gone from frames before the program runs (ethtool -K {name} \
             rxvlan off; a veth's peer decides: ethtool -K PEER txvlan off)"
        );
        say(what, Treatment::VlanOffload);
    }
    if !validates && accepts.reverse_path != ReversePath::Off {
        let what = format!(
            "sources are validated, which this engine leaves to the kernel \
             (net.ipv4.conf.{name}.rp_filter, or engine xdp)"
        );
        say(what, Treatment::Setting);
    }
}

/// A setting that concerns all links.
pub fn path_mtu(settings: &Settings) -> Option<Finding> {
    let what = "what others say of MTUs counts (sysctl net.ipv4.ip_forward_use_pmtu=0)".to_owned();
    let finding = Finding::new(Scope::V4, what, Treatment::Setting);
    settings.uses_path_mtu.then_some(finding)
}

/// Ports whose frames another link has: the kernel routes none of these.
pub fn owners(mirror: &super::mirror::Mirror) -> Vec<Finding> {
    let around = mirror.around();
    let owned = around.receiving().filter_map(|link| {
        let owner = &around.owner(link)?.name;
        let what = format!("its frames are those of {owner} (ip -d link show dev {owner})");
        Some(Finding::new(
            Scope::Port(link.name.clone()),
            what,
            Treatment::Setting,
        ))
    });
    owned.collect()
}

/// Ports whose frames no program can have.
pub fn unfit(mirror: &super::mirror::Mirror) -> Vec<Finding> {
    let unfit = mirror.around().receiving().filter_map(|link| {
        let (name, why) = (&link.name, link.unfit?);
        let what = format!("{why} (ip -d link show dev {name})");
        let scope = Scope::Port(name.clone());
        Some(Finding::new(scope, what, Treatment::Setting))
    });
    unfit.collect()
}

/// Policy rules as findings: which table a packet looks in depends on more than its destination.
pub fn policy_rules(mirror: &super::mirror::Mirror) -> Vec<Finding> {
    let mut found = Vec::new();
    for (family, scope) in [(4, Scope::V4), (6, Scope::V6)] {
        for rule in mirror.policy_rules(family) {
            let table = if rule.table == MAIN_TABLE {
                "main".to_owned()
            } else {
                rule.table.to_string()
            };
            let what = format!(
                "policy rule {} looks in table {table} (ip -{family} rule)",
                rule.priority
            );
            found.push(Finding::new(scope.clone(), what, Treatment::PolicyRules));
        }
        if mirror.has_other_order(family) {
            found.push(Finding::new(
                scope,
                format!(
                    "the policy rules for local, main and VRFs are not all there, or in another \
                     order (ip -{family} rule)"
                ),
                Treatment::PolicyRules,
            ));
        }
    }
    found
}
