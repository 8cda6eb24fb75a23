//! The hosts that a confined command may reach: those it was allowed, and those that the rules allow.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use haft_exec::sandbox::Network;
use haft_exec::{Host, Sandbox};
use haft_runtime::permission::{Action, Clearance, Effect, EffectKind};
use haft_runtime::{Context, ToolError};

use crate::commands::{CommandSettings, SandboxMode};

/// The ports that an address without one means.
const USUAL: [u16; 2] = [80, 443];

/// Whether what commands call their loopback is not the machine's. Where the kernel gives them none of
/// their own, they have none at all.
pub(super) fn has_own_loopback(settings: &CommandSettings) -> bool {
    settings.sandbox != SandboxMode::Off && settings.network == Network::Off
}

/// Lets an effect be asked about only if it leads out: what a session tells itself is its own affair.
pub(super) fn without_loopback(effect: Effect) -> Effect {
    let is_own = effect.kind == EffectKind::Connect
        && Host::with_port(&effect.value).is_some_and(|(host, _)| host.is_loopback());
    if is_own { effect.mentioned() } else { effect }
}

/// What rules and grants say of hosts, where commands are held to it.
pub(crate) async fn known(
    settings: &CommandSettings,
    cx: &Context,
) -> Result<Option<Clearance>, ToolError> {
    match has_own_loopback(settings) {
        true => cx.clearance(&[]).await.map(Some),
        false => Ok(None),
    }
}

/// Opens the network as far as the call may go: all of it where a rule allows connecting anywhere,
/// else a proxy for hosts, where there may be any. What a command calls its loopback is the session's.
pub(crate) fn open(
    sandbox: &mut Sandbox,
    effects: &[Effect],
    clearance: Clearance,
) -> Option<Arc<dyn haft_exec::Hosts>> {
    let Sandbox::Confined(confinement) = sandbox else { return None };
    if confinement.network == Network::Full {
        return None;
    }
    let connects = effects.iter().filter(|effect| effect.kind == EffectKind::Connect);
    let (own, others): (Vec<_>, Vec<_>) = connects
        .map(|effect| Host::with_port(&effect.value))
        .partition(|it| it.as_ref().is_some_and(|(host, _)| host.is_loopback()));
    // Only `*` speaks for what nobody knows.
    let anywhere = Effect::connect("*").unproven("it may be any host");
    if own.is_empty() && !others.is_empty() && clearance.covers(&anywhere) {
        confinement.network = Network::Full;
        return None;
    }
    let is_needed = !others.is_empty() || clearance.may_cover(&anywhere.key);
    let named = others.into_iter().flatten().collect();
    is_needed.then(|| Arc::new(Hosts { named, clearance }) as Arc<dyn haft_exec::Hosts>)
}

/// What the proxy asks.
struct Hosts {
    /// Those that the call named, and was allowed.
    named: Vec<(Host, Option<u16>)>,
    clearance: Clearance,
}

impl Hosts {
    /// Whether the call itself named the host and was allowed to reach it.
    fn is_named(&self, host: &Host, port: u16) -> bool {
        self.named.iter().any(|(named, at)| {
            named == host && at.map_or_else(|| USUAL.contains(&port), |at| at == port)
        })
    }

    fn is_denied(&self, host: &Host, port: u16) -> bool {
        let denies = |effect: Effect| self.clearance.decide(&effect).action == Action::Deny;
        effects(host, port).any(denies)
    }

    /// Whether a rule allows it that means this very host, not any.
    fn is_ruled(&self, host: &Host, port: u16) -> bool {
        effects(host, port).any(|effect| {
            let decision = self.clearance.decide(&effect);
            let rule = decision.rule.filter(|_| decision.action == Action::Allow);
            rule.is_some_and(|rule| !rule.pattern.starts_with(['*', '?']))
        })
    }
}

impl haft_exec::Hosts for Hosts {
    fn allows(&self, host: &Host, port: u16) -> bool {
        !self.is_denied(host, port)
            && (self.is_named(host, port)
                || effects(host, port).any(|effect| self.clearance.covers(&effect)))
    }

    /// The machine's own loopback is only opened by a rule: a call that names it means the session's.
    fn allows_local(&self, host: &Host, address: IpAddr, port: u16) -> bool {
        let place = Host::Address(address);
        let is_ruled =
            self.is_ruled(&place, port) || host.is_loopback() && self.is_ruled(host, port);
        let is_named = !place.is_loopback() && self.is_named(&place, port);
        !self.is_denied(&place, port) && (is_ruled || is_named)
    }

    fn hint(&self, host: &Host, port: u16) -> String {
        let mut decided = effects(host, port).map(|effect| self.clearance.decide(&effect));
        let denial = decided.find(|decision| decision.action == Action::Deny);
        match denial.and_then(|decision| decision.rule) {
            Some(rule) => format!("change the rule {rule}"),
            None if USUAL.contains(&port) => super::answer::rule(&host.to_string()),
            None => super::answer::rule(&format!("{host}:{port}")),
        }
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosts").field("named", &self.named).finish_non_exhaustive()
    }
}

/// A connection as rules know it: with its port, and without where it is a usual one.
fn effects(host: &Host, port: u16) -> impl Iterator<Item = Effect> {
    let bare = USUAL.contains(&port).then(|| Effect::connect(host.to_string()));
    [Effect::connect(format!("{host}:{port}"))].into_iter().chain(bare)
}
