//! Which links and families stay with the kernel, because it does more to their packets than
//! routing them.

use std::collections::HashSet;
use std::time::Instant;

use fastpath::forward::{Accepts, FlowFields, Flows};

use super::Instance;
use crate::control_plane::guard::{self, Finding, Scope, Treatment};
use crate::control_plane::model::LinkKind;
use crate::control_plane::settings::{Settings, Watched};
use crate::log::{Level, log};

impl Instance {
    /// The links whose settings count.
    fn watched(&self) -> Vec<Watched> {
        let engine = self.follower.engine();
        let passes = engine.passes_disciplines();
        let links = self.follower.mirror().around().receiving();
        let watched = links.map(|link| {
            let is_port = link.kind == LinkKind::Plain;
            let own_at_tc = if is_port {
                engine.programs_at_tc(link.index)
            } else {
                0
            };
            Watched {
                name: link.name.clone(),
                index: link.index,
                is_port,
                own_at_tc,
                passes_discipline: is_port && passes,
            }
        });
        watched.collect()
    }

    /// The first decision, upon a first look and reading.
    pub(super) fn decide_first(&mut self) {
        let now = Instant::now();
        let links = self.watched();
        let begun = self.reader.begin(links.clone(), now);
        if self.guard.look(links, now) {
            let devices = self.guard.wait();
            self.follower.set_devices(&devices);
        }
        match begun.and_then(|()| self.reader.wait()?) {
            Ok(settings) => self.take_settings(settings),
            Err(error) => {
                self.decide();
                self.lack_settings(&error);
            }
        }
    }

    /// Has the settings read when that is due, and acts by those that have been read.
    pub(super) fn follow_settings(&mut self) {
        let around = self.follower.mirror().around();
        let is_new = around.news() != std::mem::replace(&mut self.news, around.news());
        if is_new {
            self.guard.want_links();
        }
        if is_new || self.changes.concern(|index| around.receives(index)) {
            self.reader.want();
        }
        match self.reader.answer() {
            Ok(None) => {}
            Ok(Some(Ok(settings))) => self.take_settings(settings),
            Ok(Some(Err(error))) | Err(error) => self.lack_settings(&error),
        }
        let now = Instant::now();
        if self.reader.is_due(now)
            && let Err(error) = self.reader.begin(self.watched(), now)
        {
            self.lack_settings(&error);
        }
    }

    fn take_settings(&mut self, settings: Settings) {
        if std::mem::take(&mut self.lacks_settings) {
            log!(Level::Info, "settings", result = "they can be read again");
        }
        self.settings = settings;
        // What a setting forbids is decided before it lets anything in.
        self.decide();
        self.apply();
    }

    /// Nobody knows what the settings say, so nothing is accepted until somebody does.
    fn lack_settings(&mut self, error: &std::io::Error) {
        if !std::mem::replace(&mut self.lacks_settings, true) {
            let result = "every port is the kernel's until its settings can be read";
            log!(Level::Error, "settings", error, result);
        }
        for setting in &mut self.settings.links {
            (setting.accepts.v4, setting.accepts.v6) = (false, false);
        }
        self.apply();
    }

    /// Takes in what the kernel announces and what the guard has seen, and has it look when that is
    /// due.
    pub(super) fn guard(&mut self, now: Instant) {
        let mut is_new = self.guard.hear();
        if let Some(devices) = self.guard.seen() {
            self.follower.set_devices(&devices);
            is_new = true;
        }
        let rules = self.follower.mirror().rule_changes();
        is_new |= rules != std::mem::replace(&mut self.rules, rules);
        if is_new {
            self.decide();
        }
        if self.guard.is_due(now) {
            let links = self.watched();
            if !self.guard.look(links, now) {
                self.decide();
            }
        }
    }

    /// What the settings say holds from now on.
    fn apply(&mut self) {
        let (flows, links) = (self.settings.flows, &self.settings.links);
        let mtu6 = links
            .iter()
            .map(|setting| (setting.link.index, setting.mtu6))
            .collect();
        let accepts = links
            .iter()
            .map(|setting| (setting.link.index, self.can_carry(setting.accepts, flows)))
            .collect();
        self.follower.change(|mirror| {
            mirror.set_flows(flows);
            mirror.set_mtu6(&mtu6);
            mirror.set_accepts(accepts);
        });
    }

    /// What of that the engine can carry: without a table it knows no group that would be the
    /// kernel's.
    fn can_carry(&self, accepts: Accepts, flows: Flows) -> Accepts {
        let accepts = Accepts {
            v4: accepts.v4 && !self.settings.learns(),
            ..accepts
        };
        if self.follower.engine().keeps_table() {
            return accepts;
        }
        let by_kernel =
            |fields: FlowFields| fields.has(FlowFields::KERNEL) || fields.has(FlowFields::CUSTOM);
        Accepts {
            v4: accepts.v4 && !by_kernel(flows.v4),
            v6: accepts.v6 && !by_kernel(flows.v6),
            ..accepts
        }
    }

    /// Decides, by what is known of the kernel's treatments and by the links' settings, which links
    /// and families stay with the kernel.
    pub(super) fn decide(&mut self) {
        let settings = &self.settings.links;
        let mut findings = self.guard.findings();
        let validates = self.follower.engine().keeps_table();
        for setting in settings {
            let hides_tags = self.follower.engine().hides_tags(setting.link.index);
            guard::settings(setting, hides_tags, validates, &mut findings);
        }
        findings.extend(guard::policy_rules(self.follower.mirror()));
        findings.extend(guard::path_mtu(&self.settings));
        findings.extend(guard::owners(self.follower.mirror()));
        findings.extend(guard::unfit(self.follower.mirror()));
        findings.sort();
        findings.dedup();
        // Nobody knows yet what is done to the packets of these.
        let looked_at = self.guard.looked_at();
        let receiving = self.follower.mirror().around().receiving();
        let mut unseen: Vec<String> = receiving
            .filter(|link| !looked_at.contains(&link.index))
            .map(|link| link.name.clone())
            .collect();
        unseen.sort();
        if self.has_decided && findings == self.findings && unseen == self.unseen {
            return;
        }
        self.has_decided = true;
        for finding in findings
            .iter()
            .filter(|finding| !self.findings.contains(finding))
        {
            self.say(finding);
        }
        for finding in self
            .findings
            .iter()
            .filter(|finding| !findings.contains(finding))
        {
            log!(Level::Info, "no-longer-there", what = finding.what);
        }
        let holds = |scope: &Scope| {
            findings.iter().any(|finding| {
                finding.scope == *scope
                    && finding.treatment != Treatment::Setting
                    && !self.config.bypasses(finding.treatment)
            })
        };
        let all = holds(&Scope::All);
        let (v4, v6) = (all || holds(&Scope::V4), all || holds(&Scope::V6));
        let both = v4 && v6;
        let ports = self.config.ports.iter();
        let kept: HashSet<String> = ports
            .chain(settings.iter().map(|setting| &setting.link.name))
            .filter(|name| both || holds(&Scope::Port((*name).clone())))
            .chain(&unseen)
            .cloned()
            .collect();
        (self.findings, self.unseen) = (findings, unseen);
        let trusts_tags = self.config.bypass_vlan_offload;
        self.follower.change(|mirror| {
            mirror.keep_families(v4, v6);
            mirror.trust_tags(trusts_tags);
            mirror.keep_links(kept);
        });
    }

    fn say(&self, finding: &Finding) {
        let scope = match &finding.scope {
            Scope::All => "all ports",
            Scope::V4 => "IPv4",
            Scope::V6 => "IPv6",
            Scope::Port(name) => name,
        };
        let what = &finding.what;
        let option = finding.treatment.bypass();
        if let (Some(option), true) = (option, self.config.bypasses(finding.treatment)) {
            log!(Level::Warning, "bypass", scope, what, because = option);
            return;
        }
        let remedy = match option {
            Some(option) => format!("remove it, or --{option}"),
            None => "change the setting".to_owned(),
        };
        log!(Level::Warning, "left-to-kernel", scope, what, remedy);
    }
}
