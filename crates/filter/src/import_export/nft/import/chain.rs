//! A base chain, and the chains it jumps to, as one list of rules.

use serde_json::Value;

use super::listing::{Chain, Key, Listing};
use super::{matching, meter, refusal};
use crate::import_export::Error;
use crate::import_export::conjunction::{Conjunction, IPV4, IPV6};
use crate::language::bounds::{EXPANSION, STEPS, Work, step};
use crate::language::names::Unique;
use crate::{Action, Field, Limit, Per, Policies, Rule, Ruleset, Unit, Values};
use functions::PassOrDrop;

/// The rules that decide as a base chain does.
pub(super) fn translate(listing: &Listing, chain: Option<&str>) -> Result<Ruleset, Error> {
    let key = choose(listing, chain)?;
    let fail = |reason: String| Error::new(format!("chain {key}"), reason);
    let chain = &listing.chains[key];
    let policy = match &chain.base {
        Some(base) if base.kind != "filter" => {
            return Err(fail(format!("of type {}: only filters can be taken over", base.kind)));
        }
        Some(base) if !matches!(base.hook.as_str(), "ingress" | "prerouting" | "input") => {
            return Err(fail(format!("hook {} is not where packets come in", base.hook)));
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
        [] => Err(Error::new("", "there is no such chain with a hook")),
        several => {
            let names: Vec<_> = several.iter().map(ToString::to_string).collect();
            let reason = format!(
                "several chains have hooks, and one can be taken over: {}; name it",
                names.join(", ")
            );
            Err(Error::new("", reason))
        }
    }
}

/// Which packets a table sees.
fn scope(family: &str) -> Result<Conjunction, String> {
    let one = |ether_type: u16| (ether_type.into(), ether_type.into());
    let ether_types = match family {
        "netdev" => return Ok(Conjunction::default()),
        "ip" => Values::new([one(IPV4)]),
        "ip6" => Values::new([one(IPV6)]),
        "inet" => Values::new([one(IPV4), one(IPV6)]),
        _ => return Err(format!("tables of family {family} cannot be taken over")),
    };
    let mut scope = Conjunction::default();
    scope.require(Field::EtherType, &ether_types)?;
    Ok(scope)
}

struct Translation<'a> {
    listing: &'a Listing,
    policy: PassOrDrop,
    rules: Vec<Rule>,
    names: Unique,
    /// Jumps that led here.
    depth: usize,
    work: Work,
}

/// One rule of nft on its way.
struct State<'a> {
    key: &'a Key,
    name: String,
    tests: Conjunction,
    /// A counter for which there is no rule yet.
    counts: bool,
    limit: Option<Limit>,
    is_over: bool,
}

impl<'a> Translation<'a> {
    fn new(listing: &'a Listing, policy: PassOrDrop) -> Self {
        let work = Work::of(STEPS.saturating_add(listing.weight.saturating_mul(EXPANSION)));
        Self { listing, policy, rules: Vec::new(), names: Unique::default(), depth: 0, work }
    }

    /// Chains that jump to chains, and sets that many rules name, mean more than is written.
    fn spend(&mut self, amount: usize) -> Result<(), Error> {
        step(amount);
        if self.work.spend(amount) {
            return Ok(());
        }
        let reason = "the jumps and sets of this chain lead to too many rules and values: take \
                      over a smaller chain";
        Err(Error::new("", reason))
    }

    fn chain(&mut self, key: &Key, chain: &Chain, outer: &Conjunction) -> Result<(), Error> {
        for (place, rule) in chain.rules.iter().enumerate() {
            let number = place + 1;
            self.spend(1 + rule.weight + outer.weight())?;
            let mut state = State {
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
                    place if place.is_empty() => Error { place: at.clone(), ..error }.of(statement),
                    place => Error { place, ..error },
                })?;
            }
            if let Some(limit) = &state.limit {
                let text = format!("limit {} without a drop behind it", limit.rate);
                return Err(Error::new(at, text));
            }
            self.settle(&mut state)?;
        }
        Ok(())
    }

    fn statement(&mut self, state: &mut State<'_>, statement: &Value) -> Result<(), Error> {
        let fail = |reason: &str| Error::new("", reason);
        let named = statement.as_object().and_then(|it| it.iter().next());
        let (kind, body) = named.ok_or_else(|| fail("no statement"))?;
        if state.is_over {
            return Err(fail("it follows a verdict"));
        }
        if state.limit.is_some() && !matches!(kind.as_str(), "counter" | "drop") {
            return Err(fail("behind `limit rate over`, only `drop` can be taken over"));
        }
        match kind.as_str() {
            "match" => {
                self.settle(state)?;
                self.spend(named_set(self.listing, state.key, &body["right"]))?;
                let found = matching::add(body, &mut state.tests, self.listing, state.key);
                found.map_err(|reason| Error::new("", reason))
            }
            "counter" if body.is_string() => Err(fail("counters with names are not supported")),
            "counter" => {
                state.counts |= state.limit.is_none();
                Ok(())
            }
            "limit" => {
                self.settle(state)?;
                state.limit = Some(limit(body).map_err(|reason| Error::new("", reason))?);
                Ok(())
            }
            "set" | "meter" => {
                self.settle(state)?;
                let found = meter::limit(kind, body, &mut state.tests);
                state.limit = Some(found.map_err(|reason| Error::new("", reason))?);
                Ok(())
            }
            "accept" => self.decide(state, Action::Pass),
            "drop" => {
                let action = state.limit.take().map_or(Action::Drop, Action::Limit);
                self.decide(state, action)
            }
            "return" if self.depth == 0 => self.decide(state, verdict(self.policy)),
            "return" => Err(fail("`return` from a chain that was jumped to is not supported")),
            "jump" | "goto" => self.jump(state, kind, body),
            _ => Err(fail(refusal::statement(kind))),
        }
    }

    fn decide(&mut self, state: &mut State<'_>, action: Action) -> Result<(), Error> {
        // A rule counts what it decides.
        state.counts = false;
        state.is_over = true;
        self.rule(&state.name, state.tests.clone(), action)
    }

    fn jump(&mut self, state: &mut State<'_>, kind: &str, body: &Value) -> Result<(), Error> {
        let target = body["target"].as_str().unwrap_or_default();
        let key = Key { name: target.to_owned(), ..state.key.clone() };
        let chain = self.listing.chains.get(&key);
        let chain = chain.ok_or_else(|| Error::new("", format!("there is no chain {target}")))?;
        if kind == "goto" && self.depth > 0 {
            return Err(Error::new("", "`goto` in a chain that was jumped to is not supported"));
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            let reason = "its jumps lead to too many rules: more than 16 inside of each other";
            return Err(Error::new("", reason));
        }
        self.settle(state)?;
        self.chain(&key, chain, &state.tests)?;
        self.depth -= 1;
        if kind == "goto" {
            self.rule(&format!("{}-end", state.name), state.tests.clone(), verdict(self.policy))?;
        }
        state.is_over = true;
        Ok(())
    }

    /// A counter counts what got as far as it stands.
    fn settle(&mut self, state: &mut State<'_>) -> Result<(), Error> {
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

/// Elements of the set that a right side names.
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

/// What may be a rule's name here.
fn name(text: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let tail: Vec<_> = text.chars().map(|it| if fits(it) { it } else { '-' }).collect();
    tail[tail.len().saturating_sub(LONGEST_NAME)..].iter().collect()
}

/// Of a statement `limit rate over …`.
pub(super) fn limit(body: &Value) -> Result<Limit, String> {
    if body["inv"] != true {
        let reason = "only `limit rate over … drop` can be taken over: what is below goes on";
        return Err(reason.to_owned());
    }
    if body.get("rate_unit").is_some() {
        let reason = "nft counts bytes without the Ethernet header, the filter whole frames";
        return Err(reason.to_owned());
    }
    let number = |key: &str| body[key].as_u64();
    let rate = number("rate").ok_or("no rate")?;
    let seconds = match body["per"].as_str() {
        Some("second") | None => 1,
        Some("minute") => 60,
        Some("hour") => 3600,
        Some("day") => 86400,
        Some(_) => return Err("an unknown unit of time".to_owned()),
    };
    if rate == 0 || rate % seconds != 0 {
        return Err("the filter's rates are whole packets a second".to_owned());
    }
    // linux: net/netfilter/nft_limit.c, NFT_LIMIT_PKT_BURST_DEFAULT
    let burst = number("burst").filter(|burst| *burst > 0).unwrap_or(5);
    Ok(Limit { rate: rate / seconds, unit: Unit::Packets, burst, per: Per::Rule, total: None })
}

/// Jumps inside of each other; nft's own limit.
const DEEPEST: usize = 16;
/// Leaves room for what makes it unique.
const LONGEST_NAME: usize = 48;
