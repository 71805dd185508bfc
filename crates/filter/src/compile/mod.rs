//! Compiles rules into a program that can be loaded.
//!
//! ```text
//!  Ruleset ─┬▶ Plan ─▶ code, filter_data ─▶ splice ──────┐
//!           └▶ CompiledActions, Needs, Policies ─▶ globals ┴▶ Spec
//!  after loading: Compiled::actions.fill
//! ```
//!
//! Rule: nothing here reads the running system; its properties are in the `Environment`. Not here:
//! loading, filling maps, and state of an older program (`runtime`).

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

/// The most slots of code that the kernel's verifier may follow once per path through the headers.
const LIGHT: usize = 256;
/// The most rules with their own result in such code, after each of which the verifier continues
/// once per path; half of it if sources can be banned.
const LIGHT_ANSWERS: usize = 8;
/// The most slots of code that the verifier may follow once per encapsulated packet; half of it
/// with rules that continue, which branch more.
const LONG: usize = 2048;
/// The most slots of code of a program, of the million instructions that the verifier follows.
const MOST_SLOTS: usize = 700_000;
/// The most bytes of rows of a family.
const MOST_BYTES: usize = 1 << 28;

/// Properties of the system that the program will run on.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Indices of interfaces by name. A rule for any other interface never matches.
    pub interfaces: BTreeMap<String, u32>,
    /// Sizes of maps.
    pub sizes: Sizes,
    /// The budget of the plan.
    pub budget: Budget,
    /// The form of the program.
    pub form: Form,
}

/// The form of a program, which is a choice between speed and effort of verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The code of a few rules is inline after each path through the headers, and the verifier
    /// follows it once per path.
    #[default]
    Fast,
    /// A function that is verified once reads the headers; its call costs each packet a few
    /// nanoseconds.
    Small,
}

/// A compiled ruleset.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Both programs, [`PROGRAM`] and [`PROGRAM_FRAGS`], with their globals and `filter_data`.
    pub spec: Spec,
    /// The actions of the rules. Call [`CompiledActions::fill`] after the maps are created.
    pub actions: CompiledActions,
    /// Names of the rules, by number.
    pub names: Vec<String>,
    /// A description of plan and code for people.
    pub description: String,
}

/// Why rules cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Act(#[from] actions::Error),
    #[error("too many rules with `payload` or `expr` for the kernel's verifier; use fewer of them")]
    TooManyStraight,
    #[error(
        "the rules that count, limit, sample or mark test too many combinations of fields; use \
         fewer of them, or fewer fields"
    )]
    TooManyGroups,
    #[error("the object of the filter does not match this build: {0}")]
    Object(#[from] spec::Error),
    #[error("the code of the rules cannot be inserted into the program: {0}")]
    Splice(#[from] spec::compose::Error),
}

impl Environment {
    /// The index of an interface.
    pub fn ifindex(&self, name: &str) -> Option<u32> {
        self.interfaces.get(name).copied()
    }
}

/// Compiles a ruleset.
///
/// # Errors
/// A rule cannot be compiled; any other error is a defect of this crate.
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

/// Whether the verifier may follow the code after the reading of headers once per path through
/// them, which saves each packet a call. It must not if there are many paths. Transport headers and
/// bans add paths; a default that drops, redirects, and each rule that decides multiply them.
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

/// The plan, with a budget that is raised until there are few enough groups of rules that continue.
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
    // Writing to a string cannot fail.
    let _ = write!(text, "code: {slots} instructions, {bytes} bytes of tables");
    if *split {
        text.push_str("; one function per family, because jumps would be too long");
    }
    if *loops {
        text.push_str("; bpf_loop (Linux 5.17)");
    }
    if !parts.is_empty() {
        let _ = write!(
            text,
            "; rules one by one in {} functions, which are verified separately",
            parts.len()
        );
    }
    text.push('\n');
    text
}
