//! Configurations: addresses, routes, neighbours, settings and rules, drawn at random.
//!
//! A configuration with several ways to a destination has no MTUs, settings, filters or policies
//! that treat the ways differently: which of them a flow takes is the one thing that may differ
//! between the beds, so what becomes of a frame must not depend on it.

mod choices;
mod treatments;

use self::choices::{
    LEAKS, LEGACY_RULES, LINKS, LOCAL_ROUTES, MORE_ADDRESSES, POLICY_RULES, PREFIXES_V4,
    PREFIXES_V6, RARE_ROUTES, ROUTE_MTUS, SETTINGS, TREATMENTS, TYPES, VLAN,
};
use crate::dice::Dice;

/// Of so many routes, as many have an MTU as there are `ROUTE_MTUS`.
const SIZED: usize = 20;

/// The random configuration under way.
struct Draft<'a> {
    dice: &'a mut Dice,
    lines: Vec<String>,
    /// Several ways to a destination are drawn.
    several: bool,
    /// Chance: which prefixes have routes with MTUs then.
    sized: usize,
    /// Tables that routes go to.
    tables: &'a [&'a str],
}

/// What configurations have that leaves something in a bed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    None,
    Rules,
    Vrfs,
    Tables,
}

/// Draws the commands of a configuration. `vlans`: the kernel has VLAN devices.
pub(crate) fn draw(dice: &mut Dice, mark: Mark, vlans: bool) -> Vec<String> {
    let (several, sized) = (dice.one_in(3), dice.between(0, SIZED));
    let mut draft = Draft {
        dice,
        lines: Vec::new(),
        several,
        sized,
        tables: match mark {
            Mark::Rules => &["", "", " table 100"],
            Mark::Vrfs => &["", " table 10", " table 10"],
            Mark::None | Mark::Tables => &[""],
        },
    };
    if mark == Mark::Vrfs {
        draft.vrf();
    }
    draft.addresses(vlans);
    draft.sizes();
    if draft.dice.one_in(3) {
        draft.objects();
    }
    for _ in 0..draft.dice.between(2, 12) {
        draft.route();
    }
    if draft.dice.one_in(6) {
        draft.pick(&RARE_ROUTES);
    }
    if draft.dice.one_in(50) {
        draft.pick(&LOCAL_ROUTES);
    }
    for _ in 0..draft.dice.between(0, 4) {
        draft.neighbour();
    }
    if draft.dice.one_in(2) {
        for _ in 0..draft.dice.between(1, 4) {
            draft.setting();
        }
    }
    match mark {
        Mark::Rules => draft.pick(&POLICY_RULES),
        Mark::Tables => draft.treat(&LEGACY_RULES),
        Mark::None | Mark::Vrfs => {}
    }
    if draft.dice.one_in(12) {
        draft.treat(&TREATMENTS);
    }
    if draft.dice.one_in(12) {
        draft.filter();
    }
    if draft.dice.one_in(12) {
        draft.traffic_control();
    }
    if draft.dice.one_in(8) {
        draft.change();
    }
    if draft.dice.one_in(100) {
        draft.say("restart".to_owned());
    }
    draft.lines
}

impl Draft<'_> {
    fn say(&mut self, line: String) {
        self.lines.push(line);
    }

    fn pick(&mut self, lines: &[&str]) {
        let picked = self.dice.of(lines);
        self.lines.extend(picked.split(';').map(str::to_owned));
    }

    /// A VRF with some of the ports; these lose addresses of IPv6 by it.
    fn vrf(&mut self) {
        self.say("ip link add name red type vrf table 10".to_owned());
        self.say("ip link set red up".to_owned());
        let inside = self.dice.of(&["0", "0", "01", "012", "12", "2"]);
        for port in inside.chars() {
            self.say(format!("ip link set r{port} master red"));
        }
        if self.dice.one_in(3) {
            self.pick(&LEAKS);
        }
    }

    fn addresses(&mut self, vlans: bool) {
        for port in 0..3 {
            if !self.dice.one_in(15) {
                let length = self.dice.of(&[24, 24, 24, 24, 16, 28, 29]);
                self.say(format!("ip addr add 10.{port}.0.1/{length} dev r{port}"));
            }
            if !self.dice.one_in(15) {
                let length = self.dice.of(&[64, 64, 64, 48, 120, 126]);
                self.say(format!(
                    "ip addr add fd00:{port}::1/{length} dev r{port} nodad"
                ));
            }
        }
        let port = self.dice.between(0, 3);
        if self.dice.one_in(2) {
            let more = self.dice.of(&MORE_ADDRESSES);
            let more = more.replace("{}", &port.to_string());
            self.say(format!("ip addr add {more}"));
        }
        if vlans && self.dice.one_in(4) {
            let link = self.dice.of(&["r0", "r0", "r1"]);
            self.pick(&[&VLAN.replace("{}", link)]);
            if self.dice.one_in(3) {
                self.say(format!("ip link set {link}.5 mtu 1400"));
            }
        }
    }

    fn sizes(&mut self) {
        let port = self.dice.between(0, 3);
        // Ways to the same destination take frames of the same size.
        let ports = if self.several {
            port / 2..3
        } else {
            port..port + 1
        };
        if self.dice.one_in(4) {
            let sizes = [1280, 1281, 1400, 1499, 1600, 2000, 1200, 576];
            let mtu = self.dice.of(&sizes);
            for port in ports.clone() {
                self.say(format!("ip link set dev r{port} mtu {mtu}"));
            }
        }
        if self.dice.one_in(12) {
            let mtu = self.dice.of(&[1280, 1400]);
            for port in ports {
                self.say(format!("sysctl net.ipv6.conf.r{port}.mtu={mtu}"));
            }
        }
        if !self.several && self.dice.one_in(12) {
            self.pick(&LINKS);
        }
    }

    /// The MTU of a route to a prefix: all that are ways at a time have the same.
    fn mtu(&mut self, prefix: &str) -> &'static str {
        let which = if self.several {
            let sum: usize = prefix.bytes().map(usize::from).sum();
            (sum + self.sized) % SIZED
        } else {
            self.dice.between(0, SIZED)
        };
        ROUTE_MTUS.get(which).copied().unwrap_or_default()
    }

    /// An address that a route can go by, and the port it is behind.
    fn gateway(&mut self, v6: bool) -> (String, usize) {
        let port = if self.several {
            self.dice.between(1, 3)
        } else {
            self.dice.of(&[0, 1, 1, 1, 2, 2, 2])
        };
        let last = if self.several || !self.dice.one_in(8) {
            self.dice.between(2, 6)
        } else {
            77
        };
        let address = match (v6, self.dice.one_in(3)) {
            (true, true) => "fe80::2".to_owned(),
            (true, false) => format!("fd00:{port}::{last}"),
            (false, _) => format!("10.{port}.0.{last}"),
        };
        (address, port)
    }

    /// One way: `via … dev …`.
    fn way(&mut self, v6: bool) -> String {
        if !v6 && self.dice.one_in(10) {
            let (gateway, port) = self.gateway(true);
            return format!("via inet6 {gateway} dev r{port}");
        }
        let (gateway, port) = self.gateway(v6);
        match self.dice.between(0, 20) {
            0 if !self.several => format!("dev r{port}"),
            // Nobody answers there.
            1 if !v6 && !self.several => format!("via 192.0.2.77 dev r{port} onlink"),
            _ => format!("via {gateway} dev r{port}"),
        }
    }

    fn objects(&mut self) {
        for (id, v6) in [(1, false), (2, false), (3, true), (4, true)] {
            let way = self.way(v6);
            let way = way.replace("inet6 ", "");
            self.say(format!("ip nexthop replace id {id} {way}"));
        }
        self.say("ip nexthop replace id 5 blackhole".to_owned());
        if self.several {
            let weights = self.dice.of(&[
                "1/2",
                "1,3/2",
                "1,200/2,100",
                "1/2 type resilient buckets 32",
            ]);
            self.say(format!("ip nexthop replace id 11 group {weights}"));
            self.say("ip nexthop replace id 12 group 3/4".to_owned());
        }
    }

    fn prefix(&mut self, v6: bool) -> String {
        match (v6, self.dice.one_in(8)) {
            (false, false) => self.dice.of(&PREFIXES_V4).to_owned(),
            (true, false) => self.dice.of(&PREFIXES_V6).to_owned(),
            (false, true) => {
                let length = self.dice.between(16, 33) as u32;
                let address = 0xc612_0000 | (self.dice.bits() as u32 & 0xffff);
                let mask = u32::MAX << (32 - length);
                let octets = (address & mask)
                    .to_be_bytes()
                    .map(|octet| octet.to_string());
                format!("{}/{length}", octets.join("."))
            }
            (true, true) => {
                let length = self.dice.between(33, 129) as u32;
                let address = 0x2001_0db8 << 96 | (self.dice.wide() >> 32);
                let mask = u128::MAX << (128 - length);
                format!("{}/{length}", std::net::Ipv6Addr::from(address & mask))
            }
        }
    }

    fn route(&mut self) {
        let v6 = self.dice.one_in(3);
        let (prefix, table) = (self.prefix(v6), self.dice.of(self.tables));
        let metric = match self.dice.between(0, 8) {
            0 => format!(" metric {}", self.dice.of(&[50, 100, 2000])),
            _ => String::new(),
        };
        let verb = match self.dice.between(0, 10) {
            0 if self.several || !v6 => "append",
            1 => "add",
            _ => "replace",
        };
        let what = match self.dice.between(0, 20) {
            0..3 => {
                let kind = self.dice.of(&TYPES);
                return self.say(format!("ip route {verb} {kind} {prefix}{metric}{table}"));
            }
            3..6 => {
                let ids: &[u32] = match (v6, self.several) {
                    (false, false) => &[1, 2, 5],
                    (false, true) => &[1, 11, 11],
                    (true, false) => &[3, 4, 5],
                    (true, true) => &[3, 12, 12],
                };
                format!("nhid {}", self.dice.of(ids))
            }
            6..10 if self.several => {
                let ways: Vec<String> = (0..self.dice.between(2, 4))
                    .map(|_| format!("nexthop {}", self.way(v6)))
                    .collect();
                ways.join(" ")
            }
            10 if !v6 => format!("{} tos 0x10", self.way(v6)),
            _ => self.way(v6),
        };
        // These come before the ways.
        // An object's ways keep the MTU of the route that used them first: those of a group differ then.
        let mtu = if self.several && what.starts_with("nhid ") {
            ""
        } else {
            self.mtu(&prefix)
        };
        self.say(format!(
            "ip route {verb} {prefix}{metric}{table}{mtu} {what}"
        ));
    }

    fn neighbour(&mut self) {
        let (v6, port) = (self.dice.one_in(3), self.dice.between(0, 3));
        let last = self.dice.of(&[2, 3, 77, 78]);
        let address = if v6 {
            format!("fd00:{port}::{last}")
        } else {
            format!("10.{port}.0.{last}")
        };
        let mac = self.dice.of(&[
            "02:00:00:00:00:77",
            "02:00:00:00:00:78",
            "ff:ff:ff:ff:ff:ff",
        ]);
        let state = self
            .dice
            .of(&["permanent", "permanent", "reachable", "noarp", "stale"]);
        self.say(format!(
            "ip neigh replace {address} lladdr {mac} dev r{port} nud {state}"
        ));
        match self.dice.between(0, 6) {
            0 => self.say(format!("ip neigh del {address} dev r{port}")),
            1 => self.say(format!(
                "ip neigh replace {address} lladdr 02:00:00:00:00:79 dev r{port} nud permanent"
            )),
            2 => self.say(format!("ip neigh add proxy {address} dev r{port}")),
            _ => {}
        }
    }

    fn setting(&mut self) {
        let (key, values) = self.dice.of(&SETTINGS);
        let place = self.dice.of(&["r0", "r0", "r0", "r1", "all", "all", "r2"]);
        // A way that is switched off is another outcome.
        if self.several && place != "r0" && !key.contains("rp_filter") {
            return;
        }
        let value = self.dice.of(values);
        self.say(format!("sysctl net.{}={value}", key.replace("{}", place)));
    }

    /// Something that has been said is changed or taken back.
    fn change(&mut self) {
        let at = self.dice.between(0, self.lines.len());
        let line = self.lines[at].clone();
        let back = [
            ("ip addr add ", "ip addr del "),
            ("ip route replace ", "ip route del "),
            ("ip rule add ", "ip rule del "),
            ("nft add table ", "nft delete table "),
            ("ip xfrm policy add ", "ip xfrm policy flush "),
            ("ip nexthop replace id ", "ip nexthop del id "),
            ("tc filter add dev ", "tc filter del dev "),
        ];
        let back = back.into_iter().find_map(|(said, taken_back)| {
            let rest = line.strip_prefix(said)?.replace(" nodad", "");
            let rest = match said {
                "ip nexthop replace id " => rest.split(' ').next()?,
                // Of several ways one would be treated alone.
                "tc filter add dev " if self.several => return None,
                // The link and the side.
                "tc filter add dev " => &rest[..rest.match_indices(' ').nth(1)?.0],
                "ip xfrm policy add " => "",
                _ => &rest,
            };
            Some(format!("{taken_back}{rest}"))
        });
        let free = |link| format!("{link} nomaster");
        let back = back.or_else(|| line.strip_suffix(" master red").map(free));
        match back {
            Some(back) => self.say(back),
            None if !self.several => {
                let port = self.dice.between(1, 3);
                self.say(format!("ip link set dev r{port} down"));
                if self.dice.one_in(2) {
                    self.say(format!("ip link set dev r{port} up"));
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/configuration.rs"]
mod tests;
