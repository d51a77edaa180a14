//! What else the kernel does to frames on their way: policies, rules, disciplines, filters.

use super::Draft;
use super::choices::{EVERYTHING, FILTERS, NOT_FROM_LINK_LOCAL, RULES};

impl Draft<'_> {
    pub(super) fn treat(&mut self, lines: &[&str]) {
        let picked = self.dice.of(lines);
        if !self.is_of_one_way(picked) {
            self.lines.extend(picked.split(';').map(str::to_owned));
        }
    }

    /// Whether a line is about one of several ways: a port, or neighbours of IPv6 alone, whose
    /// answers are input.
    fn is_of_one_way(&self, line: &str) -> bool {
        let words = [" r1", " r2", " input priority 0|drop"];
        self.several && words.iter().any(|word| line.contains(word))
    }

    pub(super) fn filter(&mut self) {
        let picked = self.dice.of(&RULES);
        if self.is_of_one_way(picked) {
            return;
        }
        let (chain, rule) = picked.split_once('|').unwrap_or((picked, "counter"));
        let (family, hook) = chain.split_once(' ').unwrap_or((chain, ""));
        let hook = hook.replacen(' ', " hook ", 1);
        self.say(format!("nft add table {family} t"));
        self.say(format!("nft add chain {family} t c {{ type {hook}; }}"));
        self.say(format!("nft add rule {family} t c {rule}"));
    }

    /// Filters or programs at tc, on the way in or out of a link, or in a block that two share.
    pub(super) fn traffic_control(&mut self) {
        let links: &[usize] = if self.several {
            self.dice.of(&[&[0][..], &[1, 2]])
        } else {
            self.dice
                .of(&[&[0][..], &[0], &[1], &[2], &[0, 1], &[1, 2]])
        };
        let side = self.dice.of(&["ingress", "egress"]);
        if self.dice.one_in(3) {
            let program = self.dice.of(&["drop4", "drop6", "pass"]);
            for link in links {
                self.say(format!("tcx r{link} {side} {program}"));
            }
            return;
        }
        let shared = self.dice.one_in(3);
        for link in links {
            let block = if shared {
                format!(" {side}_block 7")
            } else {
                String::new()
            };
            self.say(format!("tc qdisc add dev r{link}{block} clsact"));
        }
        for _ in 0..self.dice.between(1, 3) {
            let mut filter = self.dice.of(&FILTERS).to_owned();
            if filter.contains("{}") {
                // One of two ways would be treated alone.
                if self.several && links.len() > 1 {
                    continue;
                }
                // Not to where it is found again.
                let others: Vec<usize> = (0..3).filter(|port| !links.contains(port)).collect();
                filter = filter.replace("{}", &format!("r{}", self.dice.of(&others)));
                if side == "ingress" && self.dice.one_in(3) {
                    // Two hosts have the same link-local address: on one link its neighbour would be
                    // whoever spoke last.
                    filter = filter.replace(EVERYTHING, NOT_FROM_LINK_LOCAL);
                    filter = filter.replace("mirred egress", "mirred ingress");
                }
            }
            let places = if shared {
                vec!["block 7".to_owned()]
            } else {
                let place = |link| format!("dev r{link} {side}");
                links.iter().map(place).collect()
            };
            for place in places {
                self.say(format!("tc filter add {place} {filter}"));
            }
        }
    }
}
