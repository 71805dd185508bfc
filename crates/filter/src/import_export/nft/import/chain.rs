//! A base chain and the chains that it jumps to, as one list of rules.

use serde_json::Value;

use super::key::Key;
use super::listing::{Chain, Listing};
use super::{limit, matching, meter, unsupported};
use crate::import_export::Error;
use crate::import_export::conjunction::{Conjunction, IPV4, IPV6};
use crate::import_export::error::nft::ImportError;
use crate::language::bounds::{EXPANSION, STEPS, Work, step};
use crate::language::names::Unique;
use crate::{Action, Field, Limit, Policies, Rule, Ruleset, Values};
use functions::PassOrDrop;

/// Rules that make the decisions of a base chain.
pub(super) fn translate(listing: &Listing, chain: Option<&str>) -> Result<Ruleset, Error> {
    let key = choose(listing, chain)?;
    let fail = |cause: ImportError| Error::new(format!("chain {key}"), cause);
    let chain = &listing.chains[key];
    let policy = match &chain.base {
        Some(base) if base.kind != "filter" => {
            return Err(fail(ImportError::ChainType(base.kind.clone())));
        }
        Some(base) if !matches!(base.hook.as_str(), "ingress" | "prerouting" | "input") => {
            return Err(fail(ImportError::ChainHook(base.hook.clone())));
        }
        Some(base) if base.drops => PassOrDrop::Drop,
        _ => PassOrDrop::Pass,
    };
    let scope = scope(&key.family).map_err(fail)?;
    let is_all = scope.values(Field::EtherType).is_none();
    let mut out = Translation::new(listing, policy);
    out.chain(key, chain, &scope)?;
    let policies = Policies::of_imported_rules();
    let mut ruleset = Ruleset { policies, ..Ruleset::default() };
    if is_all {
        ruleset.default = policy;
    } else if policy == PassOrDrop::Drop {
        out.rule("policy", scope, Action::Drop)?;
    }
    ruleset.rules = out.rules;
    Ok(ruleset)
}

fn choose<'a>(listing: &'a Listing, chain: Option<&str>) -> Result<&'a Key, Error> {
    let is_meant = |key: &Key| {
        let short = format!("{}/{}", key.table, key.name);
        chain.is_none_or(|chain| chain == short || chain == key.to_string())
    };
    let bases = listing.chains.iter().filter(|(_, chain)| chain.base.is_some());
    let found: Vec<_> = bases.map(|(key, _)| key).filter(|key| is_meant(key)).collect();
    match &found[..] {
        [key] => Ok(key),
        [] => Err(ImportError::NoBaseChain.into()),
        several => {
            let names: Vec<_> = several.iter().map(ToString::to_string).collect();
            Err(ImportError::SeveralBaseChains(names.join(", ")).into())
        }
    }
}

/// The packets that the chains of a table see.
fn scope(family: &str) -> Result<Conjunction, ImportError> {
    let one = |ether_type: u16| (ether_type.into(), ether_type.into());
    let ether_types = match family {
        "netdev" => return Ok(Conjunction::default()),
        "ip" => Values::new([one(IPV4)]),
        "ip6" => Values::new([one(IPV6)]),
        "inet" => Values::new([one(IPV4), one(IPV6)]),
        _ => return Err(ImportError::TableFamily(family.to_owned())),
    };
    let mut scope = Conjunction::default();
    scope.require(Field::EtherType, &ether_types)?;
    Ok(scope)
}

/// The rules that were translated, and the state of the translation.
struct Translation<'a> {
    listing: &'a Listing,
    policy: PassOrDrop,
    rules: Vec<Rule>,
    names: Unique,
    /// Nested jumps that lead to the current chain.
    depth: usize,
    work: Work,
}

/// A rule of nft that is being translated.
struct RuleState<'a> {
    key: &'a Key,
    name: String,
    tests: Conjunction,
    /// There was a counter that has no rule yet.
    counts: bool,
    limit: Option<Limit>,
    is_over: bool,
}

impl<'a> Translation<'a> {
    fn new(listing: &'a Listing, policy: PassOrDrop) -> Self {
        let work = Work::of(STEPS.saturating_add(listing.weight.saturating_mul(EXPANSION)));
        Self { listing, policy, rules: Vec::new(), names: Unique::default(), depth: 0, work }
    }

    /// Counts the expansion of nested jumps and of sets that several rules use.
    fn spend(&mut self, amount: usize) -> Result<(), Error> {
        step(amount);
        if self.work.spend(amount) { Ok(()) } else { Err(ImportError::TooLarge.into()) }
    }

    fn chain(&mut self, key: &Key, chain: &Chain, outer: &Conjunction) -> Result<(), Error> {
        for (place, rule) in chain.rules.iter().enumerate() {
            let number = place + 1;
            self.spend(1 + rule.weight + outer.weight())?;
            let mut state = RuleState {
                key,
                name: name(&format!("{}-{number}", key.name)),
                tests: outer.clone(),
                counts: false,
                limit: None,
                is_over: false,
            };
            let line = rule.line.map(|line| format!("line {line}, ")).unwrap_or_default();
            let at = format!("{line}chain {key}, rule {number}");
            for statement in &rule.statements {
                self.statement(&mut state, statement).map_err(|error| match error.place {
                    place if place.is_empty() => {
                        Error { place: at.clone(), ..error }.about(statement)
                    }
                    place => Error { place, ..error },
                })?;
            }
            if let Some(limit) = &state.limit {
                return Err(Error::new(at, ImportError::LimitWithoutDrop { rate: limit.rate }));
            }
            self.finish_counter(&mut state)?;
        }
        Ok(())
    }

    fn statement(&mut self, state: &mut RuleState<'_>, statement: &Value) -> Result<(), Error> {
        let named = statement.as_object().and_then(|it| it.iter().next());
        let (kind, body) = named.ok_or(ImportError::NotStatement)?;
        if state.is_over {
            return Err(ImportError::AfterVerdict.into());
        }
        if state.limit.is_some() && !matches!(kind.as_str(), "counter" | "drop") {
            return Err(ImportError::AfterLimit.into());
        }
        match kind.as_str() {
            "match" => {
                self.finish_counter(state)?;
                self.spend(named_set(self.listing, state.key, &body["right"]))?;
                Ok(matching::add(body, &mut state.tests, self.listing, state.key)?)
            }
            "counter" if body.is_string() => Err(ImportError::NamedCounter.into()),
            "counter" => {
                state.counts |= state.limit.is_none();
                Ok(())
            }
            "limit" => {
                self.finish_counter(state)?;
                state.limit = Some(limit::read(body)?);
                Ok(())
            }
            "set" | "meter" => {
                self.finish_counter(state)?;
                state.limit = Some(meter::limit(kind, body, &mut state.tests)?);
                Ok(())
            }
            "accept" => self.decide(state, Action::Pass),
            "drop" => {
                let action = state.limit.take().map_or(Action::Drop, Action::Limit);
                self.decide(state, action)
            }
            "return" if self.depth == 0 => self.decide(state, verdict(self.policy)),
            "return" => Err(ImportError::NestedReturn.into()),
            "jump" | "goto" => self.jump(state, kind, body),
            _ => Err(unsupported::statement(kind).into()),
        }
    }

    fn decide(&mut self, state: &mut RuleState<'_>, action: Action) -> Result<(), Error> {
        // A rule counts what it decides.
        state.counts = false;
        state.is_over = true;
        self.rule(&state.name, state.tests.clone(), action)
    }

    fn jump(&mut self, state: &mut RuleState<'_>, kind: &str, body: &Value) -> Result<(), Error> {
        let target = body["target"].as_str().unwrap_or_default();
        let key = Key { name: target.to_owned(), ..state.key.clone() };
        let chain = self.listing.chains.get(&key);
        let chain = chain.ok_or_else(|| ImportError::UnknownChain(target.to_owned()))?;
        if kind == "goto" && self.depth > 0 {
            return Err(ImportError::NestedGoto.into());
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ImportError::TooDeep(MAX_DEPTH).into());
        }
        self.finish_counter(state)?;
        self.chain(&key, chain, &state.tests)?;
        self.depth -= 1;
        if kind == "goto" {
            self.rule(&format!("{}-end", state.name), state.tests.clone(), verdict(self.policy))?;
        }
        state.is_over = true;
        Ok(())
    }

    /// Adds a rule for a counter: it counts the packets that match all preceding tests.
    fn finish_counter(&mut self, state: &mut RuleState<'_>) -> Result<(), Error> {
        if std::mem::take(&mut state.counts) {
            self.rule(&format!("{}-count", state.name), state.tests.clone(), Action::Count)?;
        }
        Ok(())
    }

    fn rule(&mut self, name: &str, tests: Conjunction, action: Action) -> Result<(), Error> {
        self.spend(1 + tests.weight())?;
        let name = self.names.free(name, '.');
        self.rules.push(Rule { name, tests: tests.into_tests(), action });
        Ok(())
    }
}

/// The number of elements of the set that a right side names.
fn named_set(listing: &Listing, key: &Key, right: &Value) -> usize {
    let name = right.as_str().and_then(|text| text.strip_prefix('@'));
    name.and_then(|name| listing.set(key, name).ok()).map_or(0, <[Value]>::len)
}

const fn verdict(policy: PassOrDrop) -> Action {
    match policy {
        PassOrDrop::Pass => Action::Pass,
        PassOrDrop::Drop => Action::Drop,
    }
}

/// A name that a rule may have.
fn name(text: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let tail: Vec<_> = text.chars().map(|it| if fits(it) { it } else { '-' }).collect();
    tail[tail.len().saturating_sub(LONGEST_NAME)..].iter().collect()
}

/// Nested jumps; the limit of nft.
const MAX_DEPTH: usize = 16;
/// Length of a name, without the suffix that makes it unique.
const LONGEST_NAME: usize = 48;
