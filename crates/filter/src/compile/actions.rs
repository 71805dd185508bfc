//! `CompiledActions`: the actions of rules, as global variables and maps of the program.
//!
//! Rule: a map that no rule needs has one entry, and code that no rule needs is disabled, so that
//! the kernel's verifier removes it. Not here: which rule a packet matches.

use std::collections::BTreeMap;
use std::time::Duration;

use spec::Spec;

use super::limits::{self, Limits};
use crate::{Action, Listeners, Redirect, Rule, Ruleset, Unsupported, abi, maps};

/// Sizes that are not part of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The most sources that can be banned at the same time, at 72 bytes each.
    pub bans: u32,
    /// Whether sources may be banned manually. Bans cost each packet a lookup of its source, and
    /// need [`Need::Network`](abi::Need::Network); see [`CompiledActions::may_ban`].
    pub manual_bans: bool,
    /// The most bytes of a sampled packet.
    pub sample: u32,
    /// Size of the ring buffer of samples in bytes: a power of two, at least one page.
    pub samples: u32,
    /// The number of receive queues that may have an AF_XDP socket.
    pub sockets: u32,
    /// The settings of the host that a SYN proxy must match. Without them, it offers segments of
    /// 536 bytes and no options.
    pub listeners: Option<Listeners>,
    /// Time on the monotonic clock when the time of rules with a duration begins.
    pub now_ns: u64,
}

/// The actions of a ruleset, by number of the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledActions {
    sizes: Sizes,
    default: functions::PassOrDrop,
    pub(crate) rules: Vec<abi::Rule>,
    pub(crate) limits: Limits,
    /// Interfaces by slot.
    pub(crate) interfaces: Vec<u32>,
    pub(crate) cpus: Vec<u32>,
    syn: abi::Syn,
}

/// An action that cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("rule `{rule}`: {error}")]
    Limit { rule: String, error: limits::Error },
    #[error("rule `{rule}`: unknown interface `{interface}`")]
    Interface { rule: String, interface: String },
    #[error("rule `{rule}`: invalid share of one in 0 packets")]
    Sample { rule: String },
    #[error("rule `{rule}`: a ban lasts from 100 ms to 68 years")]
    Ban { rule: String },
    #[error("rule `{rule}`: a rule lasts from 100 ms to a year")]
    Time { rule: String },
    #[error("rule `{rule}`: {error}")]
    Listeners { rule: String, error: Unsupported },
    #[error("rule `{rule}`: at most {} requests per second", u32::MAX)]
    Above { rule: String },
}

impl CompiledActions {
    /// Compiles the actions of a ruleset; `ifindex` resolves names of interfaces.
    ///
    /// # Errors
    /// The first action that cannot be compiled.
    pub fn new(
        ruleset: &Ruleset,
        sizes: Sizes,
        ifindex: impl Fn(&str) -> Option<u32>,
    ) -> Result<Self, Error> {
        let mut acts = Self {
            sizes,
            default: ruleset.default,
            rules: Vec::new(),
            limits: Limits::default(),
            interfaces: Vec::new(),
            cpus: Vec::new(),
            syn: abi::Syn { mss4: 536, mss6: 1220, ..abi::Syn::default() },
        };
        for rule in &ruleset.rules {
            let act = acts.rule(rule, &ifindex)?;
            acts.rules.push(act);
        }
        Ok(acts)
    }

    fn rule(
        &mut self,
        rule: &Rule,
        ifindex: impl Fn(&str) -> Option<u32>,
    ) -> Result<abi::Rule, Error> {
        let name = || rule.name.clone();
        let (action, argument) = match &rule.action {
            Action::Pass => (abi::Action::Pass, 0),
            Action::Drop => (abi::Action::Drop, 0),
            Action::Count => (abi::Action::Count, 0),
            Action::Mark(mark) => (abi::Action::Mark, *mark),
            Action::SynProxy(proxy) => {
                if let Some(listeners) = &self.sizes.listeners {
                    let syn = abi::Syn::of(listeners);
                    self.syn = syn.map_err(|error| Error::Listeners { rule: name(), error })?;
                }
                let above = u32::try_from(proxy.above);
                (abi::Action::SynProxy, above.map_err(|_| Error::Above { rule: name() })?)
            }
            Action::Ban(time) => {
                let lasts = ban_of(*time);
                (abi::Action::Ban, lasts.ok_or_else(|| Error::Ban { rule: name() })?)
            }
            Action::DropFor(time) => {
                let end = over_at(self.sizes.now_ns, *time);
                (abi::Action::DropFor, end.ok_or_else(|| Error::Time { rule: name() })?)
            }
            Action::Limit(limit) => {
                let number = self.limits.add(limit);
                let number = number.map_err(|error| Error::Limit { rule: name(), error })?;
                (abi::Action::Limit, number)
            }
            Action::Sample { one_in: 0 } => return Err(Error::Sample { rule: name() }),
            Action::Sample { one_in } => (abi::Action::Sample, u32::MAX / one_in),
            Action::Redirect(Redirect::Interface(interface)) => {
                let index = ifindex(interface).ok_or_else(|| Error::Interface {
                    rule: name(),
                    interface: interface.clone(),
                })?;
                (abi::Action::ToInterface, slot(&mut self.interfaces, index))
            }
            Action::Redirect(Redirect::Cpu(cpu)) => {
                slot(&mut self.cpus, *cpu);
                (abi::Action::ToCpu, *cpu)
            }
            Action::Redirect(Redirect::Socket) => (abi::Action::ToSocket, 0),
        };
        Ok(abi::Rule { action: action as u32, argument })
    }

    /// Sets the global variables of the program and the sizes of its maps, before it is loaded.
    ///
    /// # Errors
    /// The object is not the filter's.
    pub fn apply(&self, spec: &mut Spec) -> Result<(), spec::Error> {
        let word = |value: u32| value.to_le_bytes();
        let actions = self.rules.iter().fold(0, |bits, rule| bits | 1 << rule.action);
        spec.set_global("filter_actions", &word(actions))?;
        spec.set_global("filter_default", &self.default.to_global())?;
        spec.set_global("filter_may_ban", &word(u32::from(self.may_ban())))?;
        spec.set_global("filter_exact_clock", &word(u32::from(self.limits.needs_exact_clock())))?;
        spec.set_global("filter_syn", &self.syn.to_bytes())?;
        let guards = if self.proxies() { GUARDS } else { 1 };
        spec.set_global("filter_guard_mask", &word(guards - 1))?;
        spec.set_global("filter_sample_bytes", &word(self.sizes.sample))?;
        for (name, entries) in self.entries() {
            if let Some(map) = spec.maps.iter_mut().find(|map| map.name == name) {
                map.max_entries = entries.max(1);
            }
        }
        self.limits.resize(&mut spec.maps);
        Ok(())
    }

    fn entries(&self) -> BTreeMap<&'static str, u32> {
        let rules = self.rules.len() as u32;
        let if_any = |any: bool, entries: u32| if any { entries } else { 1 };
        BTreeMap::from([
            (maps::RULES, rules),
            (maps::COUNTS, rules),
            (maps::INTERFACES, self.interfaces.len() as u32),
            (maps::CPUS, self.cpus.iter().max().map_or(1, |cpu| cpu + 1)),
            (maps::GUARDED, if_any(self.proxies(), GUARDS)),
            (maps::SOCKETS, if_any(self.does(abi::Action::ToSocket), self.sizes.sockets)),
            (maps::BANS, if_any(self.may_ban(), self.sizes.bans)),
            (maps::SAMPLES, if self.samples() { self.sizes.samples } else { LEAST_RING }),
        ])
    }

    /// The number of the limit of a rule; `None` for rules that do not limit.
    pub fn limit_of(&self, rule: usize) -> Option<u32> {
        let rule = self.rules.get(rule)?;
        (rule.action == abi::Action::Limit as u32).then_some(rule.argument)
    }

    /// The limits of the rules.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether sources can be banned.
    pub fn may_ban(&self) -> bool {
        self.sizes.manual_bans || self.does(abi::Action::Ban)
    }

    /// Whether a rule is a SYN proxy, so that [`Sizes::listeners`] has an effect.
    pub fn proxies(&self) -> bool {
        self.does(abi::Action::SynProxy)
    }

    /// Whether a rule samples packets.
    pub fn samples(&self) -> bool {
        self.does(abi::Action::Sample)
    }

    fn does(&self, action: abi::Action) -> bool {
        self.rules.iter().any(|rule| rule.action == action as u32)
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            bans: 1 << 16,
            manual_bans: false,
            sample: 128,
            samples: 1 << 20,
            sockets: 64,
            listeners: None,
            now_ns: 0,
        }
    }
}

/// The end of a duration in the unit of the program, rounded up.
pub(crate) fn over_at(now_ns: u64, time: Duration) -> Option<u32> {
    if time < Action::LEAST || time > Action::LONGEST {
        return None;
    }
    let end = now_ns.checked_add(u64::try_from(time.as_nanos()).ok()?)?;
    u32::try_from((end >> TIME_SHIFT) + 1).ok()
}

/// The duration of a ban as the program encodes it: in milliseconds if it is shorter than 24 days
/// and not whole seconds, otherwise in seconds, rounded up.
fn ban_of(time: Duration) -> Option<u32> {
    if time < Action::LEAST || time > Action::LONGEST_BAN {
        return None;
    }
    let ms = u32::try_from(time.as_nanos().div_ceil(1_000_000)).ok();
    match ms.filter(|ms| *ms < BAN_MS && !ms.is_multiple_of(1000)) {
        Some(ms) => Some(BAN_MS | ms),
        None => u32::try_from(time.as_nanos().div_ceil(1_000_000_000)).ok(),
    }
}

/// The index of a number in a list, to which it is appended if it is missing.
fn slot(list: &mut Vec<u32>, wanted: u32) -> u32 {
    let known = list.iter().position(|known| *known == wanted);
    known.unwrap_or_else(|| {
        list.push(wanted);
        list.len() - 1
    }) as u32
}

/// The value of `FILTER_TIME_SHIFT`.
pub(crate) const TIME_SHIFT: u32 = 26;
/// The value of `FILTER_BAN_MS`.
const BAN_MS: u32 = 1 << 31;
/// Destinations whose connection requests a SYN proxy counts separately: a power of two.
const GUARDS: u32 = 8192;
/// The smallest size of a ring buffer.
const LEAST_RING: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, Per, SynProxy, Unit};

    fn ruleset(actions: &[Action]) -> Ruleset {
        let rule = |(number, action): (usize, &Action)| Rule {
            name: format!("r{number}"),
            tests: Vec::new(),
            action: action.clone(),
        };
        Ruleset { rules: actions.iter().enumerate().map(rule).collect(), ..Ruleset::default() }
    }

    fn acts(actions: &[Action]) -> Result<CompiledActions, Error> {
        let ifindex = |name: &str| name.strip_prefix("eth")?.parse().ok();
        CompiledActions::new(&ruleset(actions), Sizes::default(), ifindex)
    }

    fn out(name: &str) -> Action {
        Action::Redirect(Redirect::Interface(name.to_owned()))
    }

    fn limit(burst: u64) -> Action {
        Action::Limit(Limit { rate: 10, unit: Unit::Packets, burst, per: Per::Rule, total: None })
    }

    fn proxy(above: u64) -> Action {
        Action::SynProxy(SynProxy { above })
    }

    fn sizes(acts: &CompiledActions) -> Vec<(String, u32)> {
        let mut spec = Spec::parse("filter", crate::OBJECT).unwrap();
        acts.apply(&mut spec).unwrap();
        let sizes = spec.maps.iter().map(|map| (map.name.clone(), map.max_entries));
        sizes.filter(|(name, entries)| name.starts_with("filter_") && *entries > 1).collect()
    }

    #[test]
    fn actions_and_their_arguments() {
        let acts = acts(&[
            Action::Pass,
            Action::Drop,
            Action::Mark(7),
            Action::Sample { one_in: 1 },
            Action::Sample { one_in: 4 },
            Action::Ban(Duration::from_secs(60)),
            Action::DropFor(Duration::from_secs(60)),
            out("eth3"),
            out("eth9"),
            out("eth3"),
            Action::Redirect(Redirect::Cpu(5)),
            Action::Redirect(Redirect::Socket),
            limit(1),
            limit(2),
            proxy(50),
        ])
        .unwrap();
        let wanted = [
            (abi::Action::Pass, 0),
            (abi::Action::Drop, 0),
            (abi::Action::Mark, 7),
            (abi::Action::Sample, u32::MAX),
            (abi::Action::Sample, u32::MAX / 4),
            (abi::Action::Ban, 60),
            // 60 s are 894.07 times 2^26 ns.
            (abi::Action::DropFor, 895),
            (abi::Action::ToInterface, 0),
            (abi::Action::ToInterface, 1),
            (abi::Action::ToInterface, 0),
            (abi::Action::ToCpu, 5),
            (abi::Action::ToSocket, 0),
            (abi::Action::Limit, 0),
            (abi::Action::Limit, 1),
            (abi::Action::SynProxy, 50),
        ];
        let rules = wanted.map(|(action, argument)| abi::Rule { action: action as u32, argument });
        assert_eq!(acts.rules, rules);
        assert_eq!(acts.interfaces, [3, 9]);
        assert_eq!((acts.limit_of(13), acts.limit_of(0), acts.limit_of(14)), (Some(1), None, None));
    }

    #[test]
    fn maps_are_as_large_as_rules_need() {
        let text = |sizes: Vec<(String, u32)>| {
            sizes.iter().map(|(name, size)| format!("{name} {size}")).collect::<Vec<_>>().join(", ")
        };
        let fixed = format!("filter_events {}", abi::Event::ALL.len());
        for (actions, wanted) in [
            (vec![Action::Drop], ""),
            (vec![Action::Drop; 3], "filter_rules 3, filter_counts 3"),
            (vec![out("eth1")], ""),
            (vec![Action::Redirect(Redirect::Cpu(3))], "filter_cpus 4"),
            (vec![Action::Redirect(Redirect::Socket)], "filter_sockets 64"),
            (vec![Action::Ban(Duration::from_secs(1))], "filter_bans 65536"),
            (vec![Action::Sample { one_in: 9 }], "filter_samples 1048576"),
            (vec![proxy(0)], "filter_guards 8192"),
        ] {
            let mut sizes = sizes(&acts(&actions).unwrap());
            sizes.retain(|(name, size)| *size != LEAST_RING && format!("{name} {size}") != *fixed);
            assert_eq!(text(sizes), wanted, "{actions:?}");
        }
    }

    #[test]
    fn invalid_actions_are_errors() {
        for (action, text) in [
            (limit(0), "rule `r0`: a limit needs a rate and a burst"),
            (out("lan"), "rule `r0`: unknown interface `lan`"),
            (Action::Sample { one_in: 0 }, "rule `r0`: invalid share"),
            (proxy(1 << 32), "rule `r0`: at most 4294967295 requests per second"),
            (
                Action::DropFor(Duration::from_millis(99)),
                "rule `r0`: a rule lasts from 100 ms to a year",
            ),
            (Action::DropFor(Action::LONGEST * 2), "rule `r0`: a rule lasts from 100 ms to a year"),
            (Action::Ban(Duration::from_millis(99)), "rule `r0`: a ban lasts from 100 ms"),
            (Action::Ban(Duration::from_secs(1 << 31)), "rule `r0`: a ban lasts from 100 ms"),
        ] {
            let error = acts(&[action]).unwrap_err().to_string();
            assert!(error.starts_with(text), "{error}");
        }
    }

    #[test]
    fn a_ban_is_never_shorter_than_it_was_asked_for() {
        let ms = Duration::from_millis;
        for (time, argument) in [
            (ms(100), BAN_MS | 100),
            (ms(1000), 1),
            (ms(1001), BAN_MS | 1001),
            (Duration::from_micros(100_001), BAN_MS | 101),
            (ms(BAN_MS.into()) - ms(1), BAN_MS | (BAN_MS - 1)),
            (ms(BAN_MS.into()), BAN_MS / 1000 + 1),
            (Action::LONGEST_BAN, BAN_MS - 1),
        ] {
            let acts = acts(&[Action::Ban(time)]).unwrap();
            assert_eq!(acts.rules[0].argument, argument, "{time:?}");
        }
    }
}
