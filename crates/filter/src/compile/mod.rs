//! From rules to a program that can be loaded: everything that is not done per packet.
//!
//! ```text
//!  Ruleset ─▶ Plan ─▶ code, filter_data ─▶ splice ─┐
//! └─────▶ CompiledActions, Needs, Policies ─▶ globals ────┴▶ Spec      after loading:
//! Compiled::acts.fill
//! ```
//!
//! Rule: nothing here looks at the running system; what it knows of one is in the `Environment`.
//! Not here: loading, filling maps, and what goes over from an older program (`carried`).

pub mod actions;
pub mod code;
pub mod limits;
mod listeners;
mod location;
mod needs;
pub mod plan;

pub use actions::{CompiledActions, Sizes};
pub use listeners::{Listeners, Unsupported};
pub use location::FieldLocation;

use std::collections::BTreeMap;
use std::fmt::Write;

use spec::Spec;
use spec::compose::{globalize, inline, splice};

use self::code::Generated;
use self::plan::{Budget, Plan};
use super::{Action, EFFECT, MATCH, Needs, OBJECT, PROGRAM, PROGRAM_FRAGS, READ, Rule, Ruleset};

/// Slots of code that the kernel's verifier may walk once for each way through the headers.
const LIGHT: usize = 256;
/// Rules with an answer of their own, after each of which the verifier may go on as often; half as
/// many where sources can be banned.
const LIGHT_ANSWERS: usize = 8;
/// Slots of code that it may walk once for each packet inside of another; with rules that go on,
/// which branch more, half as many.
const LONG: usize = 2048;
/// Slots of code that a program may have, of the million instructions that a verifier walks.
const MOST_SLOTS: usize = 700_000;
/// Bytes of rows that a family may have at most.
const MOST_BYTES: usize = 1 << 28;

/// What is known of the system that the program will run on.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Indices by name. A rule for an interface that is not here matches nothing.
    pub interfaces: BTreeMap<String, u32>,
    pub sizes: Sizes,
    pub budget: Budget,
    pub form: Form,
}

/// What a program is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Where the rules are few, they stand behind every way through the headers, and the verifier
    /// walks them as often.
    #[default]
    Fast,
    /// Headers are read by a function that is verified once; the call costs each packet some
    /// nanoseconds.
    Small,
}

/// A ruleset as an object.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Both programs, [`PROGRAM`] and [`PROGRAM_FRAGS`], with their globals and `filter_data`.
    pub spec: Spec,
    /// What rules do. User space must call [`CompiledActions::fill`] once the maps are there.
    pub actions: CompiledActions,
    /// By number.
    pub names: Vec<String>,
    /// What became of the rules, in lines for people.
    pub description: String,
}

/// Why rules cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Act(#[from] actions::Error),
    #[error(
        "the rules that look at bytes or have expressions are more than the kernel's verifier \
         follows in one program; write fewer of them"
    )]
    TooManyStraight,
    #[error(
        "the rules that count, limit, sample or mark test too many combinations of fields to be \
         walked together; write fewer of them, or with fewer fields"
    )]
    TooManyGroups,
    #[error("the filter's object is not what this build expects: {0}")]
    Object(#[from] spec::Error),
    #[error("the filter's code cannot be put into its program: {0}")]
    Splice(#[from] spec::compose::Error),
}

impl Environment {
    pub fn ifindex(&self, name: &str) -> Option<u32> {
        self.interfaces.get(name).copied()
    }
}

/// Makes the program of a ruleset.
///
/// # Errors
/// A rule that cannot be done; all else is a mistake of this crate.
pub fn compile(rules: &Ruleset, environment: &Environment) -> Result<Compiled, Error> {
    let ifindex = |name: &str| environment.ifindex(name);
    let acts = CompiledActions::new(rules, environment.sizes, ifindex)?;
    let mut spec = Spec::parse("filter", OBJECT)?;
    acts.apply(&mut spec)?;
    let mut needs = Needs::of(rules);
    if acts.may_ban() {
        needs = needs.with(super::abi::Need::Network);
    }
    needs.apply(&rules.policies, &mut spec)?;
    let plan = plan(rules, environment)?;
    let generated = code::generate(rules, &plan, &ifindex);
    if generated.slots > MOST_SLOTS {
        return Err(Error::TooManyStraight);
    }
    let description = description(&plan, &generated);
    spec.maps.extend(generated.data.clone());
    for program in [PROGRAM, PROGRAM_FRAGS] {
        let fast = environment.form == Form::Fast;
        spec = if fast && is_light(rules, needs, acts.may_ban(), &generated) {
            inline(&spec, program, READ)?
        } else {
            globalize(&spec, program, READ, READ)?
        };
        let long = if code::has_effects(&plan) { LONG / 2 } else { LONG };
        if generated.slots > long {
            spec = globalize(&spec, program, MATCH, MATCH)?;
        }
        spec = splice(&spec, program, MATCH, generated.code.clone())?;
        for part in generated.parts.iter().chain(&generated.expressions) {
            spec = globalize(&spec, program, part, EFFECT)?;
        }
    }
    let names = rules.rules.iter().map(|rule| rule.name.clone()).collect();
    Ok(Compiled { spec, actions: acts, names, description })
}

/// Whether the verifier may follow all that comes after the reading of headers once for each path
/// through them. That saves each packet a call. It must not where the paths are many: transport
/// headers and bans make them many, and a default that drops, redirects and each rule that decides
/// multiply them.
fn is_light(rules: &Ruleset, needs: Needs, bans: bool, generated: &Generated) -> bool {
    let is_heavy = |rule: &Rule| {
        matches!(rule.action, Action::SynProxy(_) | Action::Sample { .. } | Action::Mark(_))
    };
    let is_long = bans || needs.has(super::abi::Need::Transport);
    let redirects = |rule: &Rule| matches!(rule.action, Action::Redirect(_));
    let ends_late =
        rules.default == functions::PassOrDrop::Drop || rules.rules.iter().any(redirects);
    let answers = if bans { LIGHT_ANSWERS / 2 } else { LIGHT_ANSWERS };
    generated.slots <= LIGHT
        && generated.answers <= answers
        && !(is_long && ends_late)
        && !rules.rules.iter().any(is_heavy)
}

/// With as many bytes as it takes for the groups of rules that go on to be few enough.
fn plan(rules: &Ruleset, environment: &Environment) -> Result<Plan, Error> {
    let mut budget = environment.budget;
    loop {
        let plan = Plan::new(rules, |name| environment.ifindex(name), &budget);
        if !code::is_verifiable(rules, &plan) {
            return Err(Error::TooManyStraight);
        }
        if code::fits(&plan) {
            return Ok(plan);
        }
        if budget.bytes >= MOST_BYTES {
            return Err(Error::TooManyGroups);
        }
        budget.bytes = (budget.bytes * 4).clamp(1 << 10, MOST_BYTES);
    }
}

fn description(plan: &Plan, generated: &Generated) -> String {
    let mut text = plan.describe().to_string();
    let Generated { slots, bytes, split, loops, parts, .. } = generated;
    // Writing to a string does not fail.
    let _ = write!(text, "code: {slots} instructions, {bytes} bytes of tables");
    if *split {
        text.push_str("; a function for each family, because jumps would not reach");
    }
    if *loops {
        text.push_str("; bpf_loop (Linux 5.17)");
    }
    if !parts.is_empty() {
        let _ = write!(text, "; rules one by one in {} functions, verified apart", parts.len());
    }
    text.push('\n');
    text
}
