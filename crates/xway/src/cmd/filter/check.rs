//! `filter check`: a file of rules as it is understood.

use std::path::Path;

use anyhow::{Context as _, Result};
use functions::filter::abi::Need;
use functions::filter::lint::lint;
use functions::filter::{
    Action, Environment, File, Form, Needs, PROGRAM, Policies, Redirect, Ruleset, Test, compile,
};
use sys::net::Netlink;

use super::rules::read;
use super::{cut_off, memory};
use crate::args::FilterCheckArgs;
use crate::cmd::{Context, Exit, check};
use crate::view::check::Outcome;
use crate::view::filter::check::{Checked, Policy, Program, Rule, Set, Warning};

pub fn run(args: &FilterCheckArgs, context: &Context) -> Result<Exit> {
    let mut checked = match &args.file {
        Some(path) => understood(path, args.memory)?,
        None => Checked { policies: policies(&Policies::default()), ..Checked::default() },
    };
    checked.all_policies = args.policies;
    context.show(&checked)?;
    let is_refused = checked.program.is_some_and(|program| {
        program.too_much.is_some() || matches!(program.kernel, Some(Outcome::Refused(_)))
    });
    Ok(if is_refused { Exit::No } else { Exit::Done })
}

fn understood(path: &Path, limit: Option<u64>) -> Result<Checked> {
    let file = read(path)?;
    let needs = Needs::of(&file.ruleset);
    let reads = Need::ALL.into_iter().filter(|need| needs.has(*need)).map(Need::label);
    Ok(Checked {
        file: Some(path.display().to_string()),
        default: file.ruleset.default.to_string(),
        rules: rules(&file),
        sets: sets(&file),
        policies: policies(&file.ruleset.policies),
        reads: reads.collect(),
        warnings: warnings(&file),
        program: Some(program(&file.ruleset, limit)?),
        all_policies: false,
    })
}

/// What the compiler makes of it here, and whether this kernel takes that: it is not asked about
/// what it has no memory for.
fn program(rules: &Ruleset, limit: Option<u64>) -> Result<Program> {
    let fast = program_as(rules, Form::Fast, limit)?;
    let is_refused = |program: &Program| matches!(program.kernel, Some(Outcome::Refused(_)));
    if !is_refused(&fast) {
        return Ok(fast);
    }
    let small = program_as(rules, Form::Small, limit)?;
    Ok(if is_refused(&small) { fast } else { small })
}

fn program_as(rules: &Ruleset, form: Form, limit: Option<u64>) -> Result<Program> {
    let compiled = compile(rules, &Environment { form, ..environment(rules) })?;
    let memory = memory::of(&compiled.spec, [])?;
    if let Err(error) = memory::check(&memory, &compiled.spec, limit) {
        let too_much = Some(format!("{error:#}"));
        let description = compiled.description;
        return Ok(Program { description, memory, too_much, kernel: None });
    }
    let entry = compiled.spec.program(PROGRAM).context("the filter has no program")?;
    let kernel = match check::load(&compiled.spec, entry, false) {
        Ok(outcome) => Some(outcome),
        Err(error) => match error.downcast_ref() {
            // Not asked, so there is no answer.
            Some(kernel::Error::Denied { .. }) => None,
            _ => return Err(error),
        },
    };
    Ok(Program { description: compiled.description, memory, too_much: None, kernel })
}

/// Interfaces that rules name and that are there.
fn environment(rules: &Ruleset) -> Environment {
    let tests = rules.rules.iter().flat_map(|rule| &rule.tests);
    let names = tests.filter_map(|test| match test {
        Test::Interface { names, .. } => Some(names),
        _ => None,
    });
    let targets = rules.rules.iter().filter_map(|rule| match &rule.action {
        Action::Redirect(Redirect::Interface(name)) => Some(name),
        _ => None,
    });
    let known = |name: &String| {
        let link = Netlink::open().ok()?.link(name).ok()?;
        Some((name.clone(), link.ifindex.0))
    };
    let interfaces = names.flatten().chain(targets).filter_map(known).collect();
    Environment { interfaces, ..Environment::default() }
}

fn rules(file: &File) -> Vec<Rule> {
    let rules = file.ruleset.rules.iter().enumerate();
    let rules = rules.map(|(number, rule)| Rule {
        number: number + 1,
        name: rule.name.clone(),
        rule: rule.body(),
        decides: rule.action.decides(),
    });
    rules.collect()
}

fn sets(file: &File) -> Vec<Set> {
    let sets = file.scope.sets.iter().map(|(name, set)| Set {
        name: name.to_owned(),
        ipv4_ranges: set.addresses.v4.ranges().len(),
        ipv6_ranges: set.addresses.v6.ranges().len(),
        file: set.file().map(|path| path.display().to_string()),
    });
    sets.collect()
}

fn policies(policies: &Policies) -> Vec<Policy> {
    let usual = Policies::default();
    let all = policies.iter().map(|(oddity, policy)| Policy {
        oddity: oddity.label(),
        policy: policy.label(),
        usual: usual.policy(oddity) == Some(policy),
    });
    all.collect()
}

fn warnings(file: &File) -> Vec<Warning> {
    let names = |numbers: &[usize]| {
        numbers.iter().map(|number| file.ruleset.rules[*number].name.clone()).collect()
    };
    let found = lint(file).into_iter().chain(cut_off::warnings(&file.ruleset, None));
    let warnings = found.map(|one| Warning {
        kind: one.kind.label(),
        rules: names(&one.rules),
        because: names(&one.because),
        text: one.text,
    });
    warnings.collect()
}
