//! `Translation`: the rules of a base chain and of the chains that it jumps to, as one list.
//!
//! Rule: a rule that cannot be translated adds no rules; it is an error, or is listed.

use std::collections::BTreeSet;

use super::branches::Branches;
use super::key::Key;
use super::listing::{Chain, Listing, Rule as Listed};
use super::statement::{self, Statement};
use crate::import_export::error::nft::ImportError;
use crate::import_export::imported::{Approximation, ImportOptions, LeftOut};
use crate::import_export::{Cause, Error, NoMatch};
use crate::language::bounds::{EXPANSION, STEPS, Work, step};
use crate::language::names::Unique;
use crate::{Action, Limit, Rule};
use functions::PassOrDrop;

/// The rules that were translated, and the state of the translation.
pub(super) struct Translation<'a> {
    pub listing: &'a Listing,
    pub options: &'a ImportOptions<'a>,
    pub policy: PassOrDrop,
    pub rules: Vec<Rule>,
    pub left_out: Vec<LeftOut>,
    pub approximations: Vec<Approximation>,
    /// Places of rules that are in these lists.
    listed: BTreeSet<(String, &'static str)>,
    /// Whether a rule tests the state of connections.
    pub has_states: bool,
    names: Unique,
    /// Nested jumps that lead to the current chain.
    pub depth: usize,
    work: Work,
}

/// A rule of nft that is being translated.
pub(super) struct RuleState<'a> {
    pub key: &'a Key,
    pub listed: &'a Listed,
    /// Chain and number.
    pub place: String,
    pub name: String,
    pub tests: Branches,
    /// No rule of the chain follows it.
    pub is_last: bool,
    /// The rule returns below a limit, and the only rule after it drops.
    pub is_before_drop: bool,
    /// There was a counter that has no rule yet.
    pub counts: bool,
    /// The limit over which packets match.
    pub limit: Option<Limit>,
    /// The limit below which packets match.
    pub below: Option<Limit>,
    pub is_over: bool,
}

impl<'a> Translation<'a> {
    pub fn new(listing: &'a Listing, policy: PassOrDrop, options: &'a ImportOptions<'a>) -> Self {
        let work = Work::of(STEPS.saturating_add(listing.weight.saturating_mul(EXPANSION)));
        Self {
            listing,
            options,
            policy,
            rules: Vec::new(),
            left_out: Vec::new(),
            approximations: Vec::new(),
            listed: BTreeSet::new(),
            has_states: false,
            names: Unique::default(),
            depth: 0,
            work,
        }
    }

    /// Counts the expansion of nested jumps and of sets that several rules use.
    pub fn spend(&mut self, amount: usize) -> Result<(), Error> {
        step(amount);
        if self.work.spend(amount) { Ok(()) } else { Err(ImportError::TooLarge.into()) }
    }

    /// Translates the rules of a chain for packets that match the outer tests.
    pub fn chain(&mut self, key: &Key, chain: &Chain, outer: &Branches) -> Result<(), Error> {
        let rules = &chain.rules;
        let is_limit = self.depth > 0 && is_limiting(rules);
        for (place, rule) in rules.iter().enumerate() {
            let number = place + 1;
            self.spend(1 + rule.weight + outer.weight())?;
            let state = RuleState {
                key,
                listed: rule,
                place: format!("chain {key}, rule {number}"),
                name: name(&format!("{}-{number}", key.name)),
                tests: outer.clone(),
                is_last: number == rules.len(),
                is_before_drop: is_limit && number + 1 == rules.len(),
                counts: false,
                limit: None,
                below: None,
                is_over: false,
            };
            let ends = state.is_before_drop;
            if self.listed_rule(state)? && ends {
                break;
            }
        }
        Ok(())
    }

    /// Translates a rule, or lists it as left out; returns whether it was translated.
    fn listed_rule(&mut self, mut state: RuleState<'_>) -> Result<bool, Error> {
        let kept = (self.rules.len(), self.approximations.len(), self.depth);
        let Err(error) = self.statements(&mut state) else { return Ok(true) };
        // Packets that reach this chain cannot match it.
        let is_without_effect = self.depth > 0 && error.cause == ImportError::from(NoMatch).into();
        let is_listed = self.options.partial && error.cause != Cause::from(ImportError::TooLarge);
        if !is_without_effect && !is_listed {
            return Err(error);
        }
        self.rules.truncate(kept.0);
        self.approximations.truncate(kept.1);
        self.depth = kept.2;
        if !is_without_effect {
            self.leave_out(&state, &error);
        }
        Ok(false)
    }

    fn leave_out(&mut self, state: &RuleState<'_>, error: &Error) {
        if !self.listed.insert((state.place.clone(), "")) {
            return;
        }
        self.left_out.push(LeftOut {
            line: state.listed.line,
            place: state.place.clone(),
            statement: error.statement.clone(),
            reason: error.cause.to_string(),
            consequence: statement::consequence(&state.listed.statements),
        });
    }

    /// Declares how a part of a rule differs.
    pub fn approximate(&mut self, state: &RuleState<'_>, part: &str, consequence: &'static str) {
        if !self.listed.insert((state.place.clone(), consequence)) {
            return;
        }
        self.approximations.push(Approximation {
            line: state.listed.line,
            place: state.place.clone(),
            statement: part.to_owned(),
            consequence,
        });
    }

    fn statements(&mut self, state: &mut RuleState<'_>) -> Result<(), Error> {
        let rule = state.listed;
        let line = rule.line.map(|line| format!("line {line}, ")).unwrap_or_default();
        let at = format!("{line}{}", state.place);
        if let Some(cause) = &rule.refused {
            let text = rule.text.as_deref().unwrap_or_default();
            return Err(Error::new(at, cause.clone()).about(text));
        }
        if self.options.approximate && only_logs(rule) {
            self.approximate(state, "log", LOG);
            return Ok(());
        }
        for statement in &rule.statements {
            self.statement(state, statement).map_err(|error| match error.place {
                place if place.is_empty() => {
                    let text = rule.text.clone().unwrap_or_else(|| statement.to_string());
                    Error { place: at.clone(), ..error }.about(text)
                }
                place => Error { place, ..error },
            })?;
        }
        if let Some(limit) = &state.limit {
            return Err(Error::new(at, ImportError::LimitWithoutDrop { rate: limit.rate }));
        }
        if state.below.is_some() {
            return Err(Error::new(at, ImportError::LimitBelow));
        }
        self.finish_counter(state)
    }

    /// Adds a rule for each alternative of the tests.
    pub fn rule(&mut self, name: &str, tests: &Branches, action: &Action) -> Result<(), Error> {
        for tests in tests.all() {
            self.spend(1 + tests.weight())?;
            let name = self.names.free(name, '.');
            let (tests, action) = (tests.clone().into_tests(), action.clone());
            self.rules.push(Rule { name, tests, action });
        }
        Ok(())
    }
}

/// Whether the last two rules of a chain drop what is over a limit: the first returns below it, and
/// the second drops. Others continue after the chain.
fn is_limiting(rules: &[Listed]) -> bool {
    let [.., limit, drop] = rules else { return false };
    let kinds = |rule: &Listed| {
        let kinds = rule.statements.iter().map(|it| it.kind().to_owned());
        kinds.filter(|kind| !matches!(kind.as_str(), "counter" | "log")).collect::<Vec<_>>()
    };
    let is_drop = matches!(&kinds(drop)[..], [kind] if matches!(kind.as_str(), "drop" | "reject"));
    is_drop && kinds(limit) == ["limit", "return"]
}

/// Whether the only effect of a rule is an entry in a log.
fn only_logs(rule: &Listed) -> bool {
    let mut kinds = rule.statements.iter().map(Statement::kind);
    kinds.clone().any(|kind| kind == "log")
        && kinds.all(|kind| matches!(kind, "match" | "limit" | "counter" | "log"))
}

/// A name that a rule may have.
fn name(text: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let tail: Vec<_> = text.chars().map(|it| if fits(it) { it } else { '-' }).collect();
    tail[tail.len().saturating_sub(LONGEST_NAME)..].iter().collect()
}

/// Length of a name, without the suffix that makes it unique.
const LONGEST_NAME: usize = 48;
/// What happens to the entries of a log.
pub(super) const LOG: &str =
    "the filter does not log: write `sample 1/N` to copy some of the packets";
