//! `filter check`: the rules of a file as they are understood.
//!
//! Rule: the rules are read after rights were given up, and the loaded program cannot be attached
//! or run.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use control::filter::source::read;
use control::filter::{cut_off, memory};
use filter::abi::Need;
use filter::language::lint::lint;
use filter::model::cut_off::Session;
use filter::{
    Action, Environment, File, Form, Needs, PROGRAM, Policies, Redirect, Ruleset, Test, compile,
};
use sys::net::Netlink;

use crate::args::FilterCheckArgs;
use crate::cmd::{Context, Exit, check, confine};
use crate::view::check::Outcome;
use crate::view::filter::check::{Checked, Policy, Program, Rule, Set, Warning};

pub fn run(args: &FilterCheckArgs, context: &Context) -> Result<Exit> {
    let mut checked = match &args.file {
        Some(path) => {
            let host = Host::now();
            confined(path)?;
            understood(path, args.memory, &host)?
        }
        None => Checked { policies: policies(&Policies::default()), ..Checked::default() },
    };
    checked.all_policies = args.policies;
    context.show(&checked)?;
    let is_refused = checked.program.is_some_and(|program| {
        program.too_much.is_some() || matches!(program.kernel, Some(Outcome::Refused(_)))
    });
    Ok(if is_refused { Exit::No } else { Exit::Done })
}

/// Properties of the host, read before the process is confined.
struct Host {
    interfaces: HashMap<String, u32>,
    session: Option<Session>,
}

impl Host {
    fn now() -> Self {
        let links = Netlink::open().and_then(|mut netlink| netlink.links()).unwrap_or_default();
        let interfaces = links.into_iter().map(|link| (link.name, link.ifindex.0)).collect();
        Self { interfaces, session: cut_off::own_session() }
    }
}

/// Confines the process to reading the rules and loading programs.
fn confined(path: &Path) -> Result<()> {
    let mut named = confine::begin_loading()?;
    named.rules(path);
    named.end()
}

fn understood(path: &Path, limit: Option<u64>, host: &Host) -> Result<Checked> {
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
        warnings: warnings(&file, host),
        program: Some(program(&file.ruleset, limit, host)?),
        all_policies: false,
    })
}

/// The compiled program, and whether this kernel accepts it. A program whose maps do not fit into
/// the memory is not loaded.
fn program(rules: &Ruleset, limit: Option<u64>, host: &Host) -> Result<Program> {
    let fast = program_as(rules, Form::Fast, limit, host)?;
    let is_refused = |program: &Program| matches!(program.kernel, Some(Outcome::Refused(_)));
    if !is_refused(&fast) {
        return Ok(fast);
    }
    let small = program_as(rules, Form::Small, limit, host)?;
    Ok(if is_refused(&small) { fast } else { small })
}

fn program_as(rules: &Ruleset, form: Form, limit: Option<u64>, host: &Host) -> Result<Program> {
    let compiled = compile(rules, &Environment { form, ..environment(rules, host) })?;
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
            // Without rights there is no result.
            Some(kernel::Error::Denied { .. }) => None,
            _ => return Err(error),
        },
    };
    Ok(Program { description: compiled.description, memory, too_much: None, kernel })
}

/// Interfaces that rules name and that exist.
fn environment(rules: &Ruleset, host: &Host) -> Environment {
    let tests = rules.rules.iter().flat_map(|rule| &rule.tests);
    let names = tests.filter_map(|test| match test {
        Test::Interface { names, .. } => Some(names),
        _ => None,
    });
    let targets = rules.rules.iter().filter_map(|rule| match &rule.action {
        Action::Redirect(Redirect::Interface(name)) => Some(name),
        _ => None,
    });
    let known = |name: &String| Some((name.clone(), *host.interfaces.get(name)?));
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

fn warnings(file: &File, host: &Host) -> Vec<Warning> {
    let names = |numbers: &[usize]| {
        numbers.iter().map(|number| file.ruleset.rules[*number].name.clone()).collect()
    };
    let found = lint(file).into_iter().chain(cut_off::warnings(&file.ruleset, host.session));
    let warnings = found.map(|one| Warning {
        kind: one.kind.label(),
        rules: names(&one.rules),
        because: names(&one.because),
        text: one.text,
    });
    warnings.collect()
}
