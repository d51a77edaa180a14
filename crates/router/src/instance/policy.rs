//! Which ports and families stay with the kernel, because it does more to their packets than
//! routing them.

use super::{Instance, InstanceError};
use crate::control_plane::guard::{self, Finding, Scope, Watched};
use crate::log::{Level, log};

impl Instance {
    /// Looks at what the kernel does besides routing, and decides which ports and families stay
    /// with it.
    pub(super) fn guard(&mut self, first: bool) -> Result<(), InstanceError> {
        let around = self.follower.mirror().around();
        let watched: Vec<Watched> = around
            .ports()
            .into_iter()
            .map(|port| Watched {
                name: port.name,
                index: port.ifindex,
            })
            .collect();
        let mut findings = guard::look(&watched, self.follower.engine().programs_at_tc());
        findings.extend(guard::policy_rules(self.follower.mirror()));
        if !first && findings == self.findings {
            return Ok(());
        }
        let bypass = self.config.bypass_netfilter;
        for finding in findings
            .iter()
            .filter(|finding| !self.findings.contains(finding))
        {
            let scope = match &finding.scope {
                Scope::All => "all ports".to_owned(),
                Scope::V4 => "IPv4".to_owned(),
                Scope::V6 => "IPv6".to_owned(),
                Scope::Port(name) => name.clone(),
            };
            let what = &finding.what;
            if bypass && !finding.switched_off {
                log!(
                    Level::Warning,
                    "bypass",
                    scope,
                    what,
                    because = "bypass-netfilter"
                );
            } else {
                log!(
                    Level::Warning,
                    "left-to-kernel",
                    scope,
                    what,
                    remedy = "remove it, or --bypass-netfilter"
                );
            }
        }
        for finding in self
            .findings
            .iter()
            .filter(|finding| !findings.contains(finding))
        {
            log!(Level::Info, "no-longer-there", what = finding.what);
        }
        let keeps_table = self.follower.engine().keeps_table();
        let holds = |scope: &Scope| {
            let counts = |finding: &Finding| {
                if finding.switched_off {
                    keeps_table
                } else {
                    !bypass
                }
            };
            findings
                .iter()
                .any(|finding| finding.scope == *scope && counts(finding))
        };
        // Without a table of its own, an engine cannot tell the families apart.
        let all = holds(&Scope::All) || (!keeps_table && (holds(&Scope::V4) || holds(&Scope::V6)));
        let (v4, v6) = (!all && !holds(&Scope::V4), !all && !holds(&Scope::V6));
        let kept: Vec<(String, bool)> = self
            .config
            .ports
            .iter()
            .map(|name| {
                (
                    name.clone(),
                    all || (!v4 && !v6) || holds(&Scope::Port(name.clone())),
                )
            })
            .collect();
        self.findings = findings;
        self.follower.change(|mirror| {
            mirror.enable_families(v4, v6);
            for (name, kept) in &kept {
                mirror.keep_port(name, *kept);
            }
        })?;
        Ok(())
    }
}
