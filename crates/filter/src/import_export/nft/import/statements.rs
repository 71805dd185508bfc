//! What each statement of a rule adds to the translation.

use serde_json::{Value, json};

use super::branches::Branches;
use super::key::Key;
use super::listing::Listing;
use super::state::{self, States};
use super::statement::Statement;
use super::translation::{LOG, RuleState, Translation};
use super::{limit, matching, meter, unsupported};
use crate::import_export::Error;
use crate::import_export::error::nft::ImportError;
use crate::{Action, Limit};
use functions::PassOrDrop;

impl Translation<'_> {
    pub fn statement(
        &mut self,
        state: &mut RuleState<'_>,
        statement: &Statement,
    ) -> Result<(), Error> {
        let kind = statement.kind();
        if kind.is_empty() {
            return Err(ImportError::NotStatement.into());
        }
        if state.is_over {
            return Err(ImportError::AfterVerdict.into());
        }
        let follows_limit = matches!(kind, "counter" | "drop")
            || self.options.approximate && matches!(kind, "reject" | "log");
        if state.limit.is_some() && !follows_limit {
            return Err(ImportError::AfterLimit.into());
        }
        let follows_below = matches!(kind, "counter" | "accept" | "log")
            || kind == "return" && state.is_before_drop;
        if state.below.is_some() && !follows_below {
            return Err(ImportError::LimitBelow.into());
        }
        match statement {
            Statement::Nft(value) => self.nft(state, kind, &value[kind]),
            Statement::AnyOf(matches) => self.any_of(state, matches),
            Statement::Over(limit) => self.over(state, limit.clone()),
            Statement::Below(limit) => self.below(state, limit.clone()),
        }
    }

    fn nft(&mut self, state: &mut RuleState<'_>, kind: &str, body: &Value) -> Result<(), Error> {
        match kind {
            "match" => self.matches(state, body),
            "counter" if body.is_string() => Err(ImportError::NamedCounter.into()),
            "counter" => {
                state.counts |= state.limit.is_none() && state.below.is_none();
                Ok(())
            }
            "limit" if body["inv"] == true => self.over(state, limit::read(body)?),
            "limit" => self.below(state, limit::read(body)?),
            "set" | "meter" => {
                let (limit, ether_type) = meter::limit(kind, body)?;
                self.finish_counter(state)?;
                state.tests.require(|tests| Ok(tests.require_ether_type(ether_type)?))?;
                self.over(state, limit)
            }
            "accept" => self.accept(state),
            "drop" => self.drop(state),
            "reject" if self.options.approximate => {
                self.approximate(state, kind, REJECT);
                self.drop(state)
            }
            "log" if self.options.approximate => {
                self.approximate(state, kind, LOG);
                Ok(())
            }
            "return" => self.returns(state),
            "jump" | "goto" => self.jump(state, kind, body),
            "vmap" => self.verdict_map(state, body),
            _ => Err(unsupported::statement(kind).into()),
        }
    }

    fn matches(&mut self, state: &mut RuleState<'_>, body: &Value) -> Result<(), Error> {
        self.finish_counter(state)?;
        if let Some(states) = States::of_match(body).filter(|_| self.options.approximate) {
            return self.states(state, states?);
        }
        let copies = state.tests.all().len();
        self.spend(copies.saturating_mul(named_set(self.listing, state.key, &body["right"])))?;
        let (listing, key) = (self.listing, state.key);
        Ok(state.tests.require(|tests| matching::add(body, tests, listing, key))?)
    }

    /// Restricts the rule to packets of a class for each state.
    fn states(&mut self, state: &mut RuleState<'_>, states: States) -> Result<(), Error> {
        let classes = states.classes();
        self.spend(classes.len().saturating_mul(state.tests.weight()))?;
        let adds: Vec<_> =
            classes.iter().map(|class| |tests: &mut _| class.require(tests)).collect();
        state.tests.split(&adds)?;
        self.has_states = true;
        self.approximate(state, "ct state", state::CONSEQUENCE);
        Ok(())
    }

    fn any_of(&mut self, state: &mut RuleState<'_>, matches: &[Value]) -> Result<(), Error> {
        self.finish_counter(state)?;
        self.spend(matches.len().saturating_mul(state.tests.weight()))?;
        let (listing, key) = (self.listing, state.key);
        let adds: Vec<_> = matches
            .iter()
            .map(|it| move |tests: &mut _| matching::add(&it["match"], tests, listing, key))
            .collect();
        Ok(state.tests.split(&adds)?)
    }

    fn over(&mut self, state: &mut RuleState<'_>, limit: Limit) -> Result<(), Error> {
        self.finish_counter(state)?;
        state.limit = Some(limit);
        Ok(())
    }

    fn below(&mut self, state: &mut RuleState<'_>, limit: Limit) -> Result<(), Error> {
        if !self.options.approximate && !state.is_before_drop {
            return Err(ImportError::LimitBelow.into());
        }
        self.finish_counter(state)?;
        state.below = Some(limit);
        Ok(())
    }

    fn accept(&mut self, state: &mut RuleState<'_>) -> Result<(), Error> {
        if let Some(limit) = state.below.take() {
            self.approximate(state, "limit", LIMIT);
            self.limit(&format!("{}-limit", state.name), &state.tests, limit)?;
        }
        self.decide(state, &Action::Pass)
    }

    fn drop(&mut self, state: &mut RuleState<'_>) -> Result<(), Error> {
        let Some(limit) = state.limit.take() else { return self.decide(state, &Action::Drop) };
        state.counts = false;
        state.is_over = true;
        self.limit(&state.name, &state.tests, limit)
    }

    fn returns(&mut self, state: &mut RuleState<'_>) -> Result<(), Error> {
        if let Some(limit) = state.below.take() {
            state.is_over = true;
            return self.limit(&state.name, &state.tests, limit);
        }
        match self.depth {
            0 => self.decide(state, &verdict(self.policy)),
            // The chain ends here in any case.
            _ if state.is_last => self.finish_counter(state),
            _ => Err(ImportError::NestedReturn.into()),
        }
    }

    /// Adds a rule that drops what is over a limit.
    fn limit(&mut self, name: &str, tests: &Branches, limit: Limit) -> Result<(), Error> {
        if tests.only().is_none() {
            return Err(ImportError::SplitLimit.into());
        }
        self.rule(name, tests, &Action::Limit(limit))
    }

    fn decide(&mut self, state: &mut RuleState<'_>, action: &Action) -> Result<(), Error> {
        // A rule counts what it decides.
        state.counts = false;
        state.is_over = true;
        self.rule(&state.name, &state.tests, action)
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
            self.rule(&format!("{}-end", state.name), &state.tests, &verdict(self.policy))?;
        }
        state.is_over = true;
        Ok(())
    }

    /// Adds a rule for each entry; packets of none continue with the next rule.
    fn verdict_map(&mut self, state: &mut RuleState<'_>, body: &Value) -> Result<(), Error> {
        let entries = body["data"]["set"].as_array();
        let entries = entries.ok_or_else(|| unsupported::statement("vmap"))?;
        self.finish_counter(state)?;
        for entry in entries {
            let [value, verdict] = entry.as_array().map_or(&[][..], Vec::as_slice) else {
                return Err(unsupported::statement("vmap").into());
            };
            self.spend(1 + state.tests.weight())?;
            let kept = state.tests.clone();
            let matched = json!({"op": "==", "left": body["key"], "right": value});
            self.matches(state, &matched)?;
            self.statement(state, &Statement::Nft(verdict.clone()))?;
            state.tests = kept;
            state.is_over = false;
        }
        state.is_over = true;
        Ok(())
    }

    /// Adds a rule for a counter: it counts the packets that match all preceding tests.
    pub fn finish_counter(&mut self, state: &mut RuleState<'_>) -> Result<(), Error> {
        if std::mem::take(&mut state.counts) {
            self.rule(&format!("{}-count", state.name), &state.tests, &Action::Count)?;
        }
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

/// Nested jumps; the limit of nft.
const MAX_DEPTH: usize = 16;
const REJECT: &str = "the filter sends no answers: packets are dropped, and their senders wait";
const LIMIT: &str = "packets over the limit are dropped, also where a later rule would pass them";
