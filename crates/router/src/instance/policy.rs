//! Which links and families stay with the kernel, because it does more to their packets than
//! routing them.

use std::collections::HashSet;
use std::time::Instant;

use fastpath::forward::{Accepts, FlowFields, Flows};

use super::{Instance, InstanceError};
use crate::control_plane::guard::{self, Finding, Look, Scope, Seen, Treatment};
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

    /// Has the settings read when that is due, and acts by those that have been read.
    pub(super) fn follow_settings(&mut self) -> Result<(), InstanceError> {
        let around = self.follower.mirror().around();
        let is_new = around.unread() != std::mem::replace(&mut self.unread, around.unread());
        if is_new || self.changes.concern(|index| around.receives(index)) {
            self.settings.want();
        }
        if let Some(settings) = self.settings.answer()? {
            if self.has_decided {
                self.decide(&settings)?;
            }
            self.apply(&settings)?;
        }
        let now = Instant::now();
        if self.settings.is_due(now) {
            self.settings.begin(self.watched(), now);
        }
        Ok(())
    }

    /// What the settings say holds from now on.
    fn apply(&mut self, settings: &Settings) -> Result<(), InstanceError> {
        let (flows, links) = (settings.flows, &settings.links);
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
        })?;
        Ok(())
    }

    /// What of that the engine can carry: without a table it knows no group that would be the
    /// kernel's.
    fn can_carry(&self, accepts: Accepts, flows: Flows) -> Accepts {
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

    /// Begins to look at what the kernel does besides routing.
    pub(super) fn begin_look(&mut self) -> Result<(), InstanceError> {
        match Look::begin(self.watched()) {
            Ok(look) => self.look = Some(look),
            Err(error) => self.take_seen(Seen::nothing(&error))?,
        }
        Ok(())
    }

    /// Takes in what the look under way has found, if it is over.
    pub(super) fn end_look(&mut self) -> Result<(), InstanceError> {
        let Some(seen) = self.look.as_ref().and_then(Look::seen) else {
            return Ok(());
        };
        self.look = None;
        self.take_seen(seen)
    }

    /// Acts by what a look has found.
    pub(super) fn take_seen(&mut self, seen: Seen) -> Result<(), InstanceError> {
        self.follower.set_devices(&seen.devices);
        self.seen = seen.findings;
        // What a setting forbids is decided before it lets anything in.
        self.decide(&seen.settings)?;
        self.apply(&seen.settings)
    }

    /// Decides, by what was found and by these settings, which links and families stay with the
    /// kernel.
    fn decide(&mut self, settings: &Settings) -> Result<(), InstanceError> {
        let mut findings = self.seen.clone();
        let validates = self.follower.engine().keeps_table();
        for setting in &settings.links {
            let hides_tags = self.follower.engine().hides_tags(setting.link.index);
            guard::settings(setting, hides_tags, validates, &mut findings);
        }
        findings.extend(guard::policy_rules(self.follower.mirror()));
        findings.sort();
        findings.dedup();
        if self.has_decided && findings == self.findings {
            return Ok(());
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
            .chain(settings.links.iter().map(|setting| &setting.link.name))
            .filter(|name| both || holds(&Scope::Port((*name).clone())))
            .cloned()
            .collect();
        self.findings = findings;
        let trusts_tags = self.config.bypass_vlan_offload;
        self.follower.change(|mirror| {
            mirror.keep_families(v4, v6);
            mirror.trust_tags(trusts_tags);
            mirror.keep_links(kept);
        })?;
        Ok(())
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
