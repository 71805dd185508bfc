//! `RulesReport`: a file of rules as it is understood, what may not be meant, and what the compiler
//! makes of it.

use std::collections::HashMap;
use std::path::Path;

use filter::abi::Need;
use filter::language::lint::{Warning, lint};
use filter::{Environment, File, Form, Needs, PROGRAM, Policies, Ruleset, compile};
use serde::Serialize;

use super::memory::{self, Memory};
use super::ruleset;
use crate::check::{self, Outcome};
use crate::error::Result;

/// A file of rules.
#[derive(Debug, Default, Serialize)]
pub struct RulesReport {
    /// Path of the file; `null` with `--policies` and no file, and then there are policies alone.
    pub file: Option<String>,
    /// Verdict when no rule decides.
    pub default: String,
    /// Rules in order.
    pub rules: Vec<CheckedRule>,
    /// Sets of addresses.
    pub sets: Vec<CheckedSet>,
    /// Policies for malformed packets.
    pub policies: Vec<CheckedPolicy>,
    /// Parts of a packet that some rule reads: `arrival`, `macs`, `link`, `network`, `transport`,
    /// `inner`.
    pub reads: Vec<&'static str>,
    /// What may not be meant.
    pub warnings: Vec<RuleWarning>,
    /// What the compiler made; `null` without a file.
    pub program: Option<CompiledProgram>,
    /// Text shows all policies.
    #[serde(skip)]
    pub all_policies: bool,
}

/// One rule.
#[derive(Debug, Serialize)]
pub struct CheckedRule {
    /// Number of the rule, from 1.
    pub number: usize,
    /// Name of the rule.
    pub name: String,
    /// The rule without its name, in the shortest way to write it.
    pub rule: String,
    /// The search ends with the rule when it matches.
    pub decides: bool,
}

/// A set of addresses.
#[derive(Debug, Serialize)]
pub struct CheckedSet {
    /// Name of the set.
    pub name: String,
    /// Ranges of IPv4 addresses; ranges that touch are one.
    pub ipv4_ranges: usize,
    /// Ranges of IPv6 addresses.
    pub ipv6_ranges: usize,
    /// File of its addresses; `null` when they are in the rule file.
    pub file: Option<String>,
}

/// A policy for malformed packets.
#[derive(Debug, Serialize)]
pub struct CheckedPolicy {
    /// Name of the anomaly.
    pub oddity: &'static str,
    /// The policy for it.
    pub policy: &'static str,
    /// It is the default policy.
    pub usual: bool,
}

/// Something that may not be meant.
#[derive(Debug, Serialize)]
pub struct RuleWarning {
    /// Kind of the warning, as `filter.md` lists them.
    pub kind: &'static str,
    /// Names of the rules that it is about.
    pub rules: Vec<String>,
    /// Names of the rules that are the reason.
    pub because: Vec<String>,
    /// The warning, for people.
    pub text: String,
}

/// What the compiler made of the rules.
#[derive(Debug, Serialize)]
pub struct CompiledProgram {
    /// Description in lines, for people.
    pub description: String,
    /// Kernel memory of its maps.
    pub memory: Memory,
    /// Why there is too little memory: `--memory`, or the machine's; then the program was not
    /// loaded.
    pub too_much: Option<String>,
    /// The verifier's result; `null` when the program was not loaded for lack of rights.
    pub kernel: Option<Outcome>,
}

/// How to check a file of rules.
#[derive(Debug)]
pub struct RulesCheck<'a> {
    /// Path of the file, as it was named.
    pub path: &'a Path,
    /// Most memory of maps in bytes.
    pub limit: Option<u64>,
    /// Interfaces of this namespace, with their indices.
    pub interfaces: &'a HashMap<String, u32>,
}

impl RulesCheck<'_> {
    /// Compiles the rules, and loads the program if there is memory for it. `warnings` are added to
    /// those about the file.
    ///
    /// # Errors
    /// The rules do not compile.
    pub fn check(&self, file: &File, warnings: Vec<Warning>) -> Result<RulesReport> {
        let needs = Needs::of(&file.ruleset);
        let reads = Need::ALL.into_iter().filter(|need| needs.has(*need)).map(Need::label);
        let found = lint(file).into_iter().chain(warnings);
        Ok(RulesReport {
            file: Some(self.path.display().to_string()),
            default: file.ruleset.default.to_string(),
            rules: rules(file),
            sets: sets(file),
            policies: policies(&file.ruleset.policies),
            reads: reads.collect(),
            warnings: found.map(|one| warning(file, one)).collect(),
            program: Some(self.program(&file.ruleset)?),
            all_policies: false,
        })
    }

    /// The program in the form that this kernel accepts, if any.
    fn program(&self, rules: &Ruleset) -> Result<CompiledProgram> {
        let fast = self.program_as(rules, Form::Fast)?;
        if !fast.is_refused() {
            return Ok(fast);
        }
        let small = self.program_as(rules, Form::Small)?;
        Ok(if small.is_refused() { fast } else { small })
    }

    fn program_as(&self, rules: &Ruleset, form: Form) -> Result<CompiledProgram> {
        let environment = Environment { form, ..self.environment(rules) };
        let compiled = compile(rules, &environment)?;
        let memory = memory::of(&compiled.spec, [])?;
        let description = compiled.description;
        if let Err(error) = memory::check(&memory, &compiled.spec, self.limit) {
            let too_much = Some(error.to_string());
            return Ok(CompiledProgram { description, memory, too_much, kernel: None });
        }
        let entry = compiled.spec.programs.iter().find(|program| program.name == PROGRAM);
        let kernel = match entry.map(|entry| check::load(&compiled.spec, entry, false)) {
            None => None,
            Some(Ok(outcome)) => Some(outcome),
            // Not asked, so there is no answer.
            Some(Err(kernel::Error::Denied { .. })) => None,
            Some(Err(error)) => return Err(error.into()),
        };
        Ok(CompiledProgram { description, memory, too_much: None, kernel })
    }

    /// Interfaces that rules name and that exist.
    fn environment(&self, rules: &Ruleset) -> Environment {
        let known = |name: &String| Some((name.clone(), *self.interfaces.get(name)?));
        let interfaces = ruleset::interface_names(rules).filter_map(known).collect();
        Environment { interfaces, ..Environment::default() }
    }
}

impl RulesReport {
    /// The default policies alone.
    pub fn default_policies() -> Self {
        Self { policies: policies(&Policies::default()), ..Self::default() }
    }
}

impl CompiledProgram {
    /// Whether the kernel refused the program.
    pub fn is_refused(&self) -> bool {
        matches!(self.kernel, Some(Outcome::Refused(_)))
    }
}

fn rules(file: &File) -> Vec<CheckedRule> {
    let rules = (1..).zip(&file.ruleset.rules).map(|(number, rule)| CheckedRule {
        number,
        name: rule.name.clone(),
        rule: rule.body(),
        decides: rule.action.decides(),
    });
    rules.collect()
}

fn sets(file: &File) -> Vec<CheckedSet> {
    let sets = file.scope.sets.iter().map(|(name, set)| CheckedSet {
        name: name.to_owned(),
        ipv4_ranges: set.addresses.v4.ranges().len(),
        ipv6_ranges: set.addresses.v6.ranges().len(),
        file: set.file().map(|path| path.display().to_string()),
    });
    sets.collect()
}

fn policies(policies: &Policies) -> Vec<CheckedPolicy> {
    let usual = Policies::default();
    let all = policies.iter().map(|(anomaly, policy)| CheckedPolicy {
        oddity: anomaly.label(),
        policy: policy.label(),
        usual: usual.policy(anomaly) == Some(policy),
    });
    all.collect()
}

fn warning(file: &File, warning: Warning) -> RuleWarning {
    let names = |numbers: &[usize]| {
        numbers.iter().map(|number| file.ruleset.rules[*number].name.clone()).collect()
    };
    RuleWarning {
        kind: warning.kind.label(),
        rules: names(&warning.rules),
        because: names(&warning.because),
        text: warning.text,
    }
}
