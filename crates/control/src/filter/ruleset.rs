//! Rule files as they are stored with a program, compiled, and read again.
//!
//! Rule: the stored text needs no other file: it contains the sets that were read from files of
//! their own. So the rules can be changed after these files were removed, and keep their meaning.

use std::path::Path;

use filter::compile::actions::Sizes;
use filter::compile::plan::Budget;
use filter::{Action, Compiled, Environment, File, Form, Redirect, Ruleset, Source, Test, compile};
use sys::net::Netlink;
use sys::thread::monotonic_ns;

use super::{listeners, source};
use crate::error::{Context as _, Result};
use crate::target::Target;

/// The text to be stored.
pub fn stored_text(file: &File) -> String {
    let mut whole = file.clone();
    for (name, set) in file.scope.sets.iter() {
        if matches!(set.source, Source::File(_)) {
            whole.scope.sets.insert_list(name, (*set.addresses).clone());
        }
    }
    whole.to_toml()
}

/// Parses stored text.
pub fn parse_stored(text: &str) -> Result<File> {
    let file = File::parse("the active rules", text, Path::new(""), source::expression);
    file.context("the active rules cannot be read: another version of xway loaded them")
}

/// Name and text of each rule. Rules of two rule sets are the same if these are equal.
pub fn identities(rules: &Ruleset) -> Vec<String> {
    rules.rules.iter().map(|rule| format!("{}: {}", rule.name, rule.body())).collect()
}

/// Names of interfaces in rules.
pub fn interface_names(rules: &Ruleset) -> impl Iterator<Item = &String> {
    let tests = rules.rules.iter().flat_map(|rule| &rule.tests);
    let names = tests.filter_map(|test| match test {
        Test::Interface { names, .. } => Some(names),
        _ => None,
    });
    let targets = rules.rules.iter().filter_map(|rule| match &rule.action {
        Action::Redirect(Redirect::Interface(name)) => Some(name),
        _ => None,
    });
    names.flatten().chain(targets)
}

/// Compiles rules to a program of this form for an interface of this host. `bans` states whether
/// sources may be banned manually.
pub fn compiled(rules: &Ruleset, bans: bool, target: &Target, form: Form) -> Result<Compiled> {
    let mut environment = Environment { form, ..environment(bans)? };
    // Only a SYN proxy answers for this host, and not every namespace shows all settings.
    if rules.rules.iter().any(|rule| matches!(rule.action, Action::SynProxy(_))) {
        environment.sizes.listeners = Some(listeners::read(target)?);
    }
    Ok(compile(rules, &environment)?)
}

/// Properties of this host that compiled rules depend on, for any interface.
pub fn environment(bans: bool) -> Result<Environment> {
    let links = Netlink::open()?.links()?.into_iter();
    Ok(Environment {
        interfaces: links.map(|link| (link.name, link.ifindex.0)).collect(),
        sizes: Sizes { manual_bans: bans, now_ns: monotonic_ns(), ..Sizes::default() },
        budget: Budget::default(),
        form: Form::default(),
    })
}

/// A form of a program to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub form: Form,
    /// Whether the verifier's refusal is not explained, because another attempt follows it
    /// ([`LoadOptions::tentative`](kernel::LoadOptions::tentative)).
    pub tentative: bool,
}

/// Attaches the fast form of a program or, if this kernel's verifier refuses it, the small form,
/// which is easier to verify. If both are refused, the first one is tried again, so that its error,
/// which is returned, is explained.
pub fn by_form<T>(attach: impl Fn(Attempt) -> Result<T>) -> Result<T> {
    let tentative = |form| attach(Attempt { form, tentative: true });
    tentative(Form::Fast).or_else(|refused| match refused.kernel() {
        Some(error) if error.is_by_verifier() => tentative(Form::Small)
            .or_else(|_| attach(Attempt { form: Form::Fast, tentative: false })),
        _ => Err(refused),
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use kernel::VerifierLog;

    use super::*;
    use crate::error::{Error, full};

    fn refused(message: &str) -> Error {
        let log = Box::new(VerifierLog::parse(message));
        let error = kernel::Error::Verifier { program: "xway_filter".into(), errno: 7, log };
        Err::<(), _>(error).context("the rules were not loaded").unwrap_err()
    }

    #[test]
    fn the_small_form_follows_a_refusal_by_the_verifier() {
        let taken = by_form(|attempt| match (attempt.form, attempt.tentative) {
            (Form::Fast, true) => Err(refused("BPF program is too large. Processed 1000001 insn")),
            (Form::Small, true) => Ok("small"),
            (_, false) => panic!("a form is left"),
        });
        assert_eq!(taken.unwrap(), "small");
    }

    #[test]
    fn the_first_of_two_refusals_is_returned_and_other_errors_are_final() {
        let both = by_form(|attempt| Err::<(), _>(refused(&format!("{attempt:?}"))));
        let explained = "Attempt { form: Fast, tentative: false }";
        assert!(full(&both.unwrap_err()).contains(explained));
        let tries = Cell::new(0);
        let other = by_form(|_| {
            tries.set(tries.get() + 1);
            Err::<(), _>(Error::NoFilter { interface: "eth0".to_owned() })
        });
        assert!(other.is_err());
        assert_eq!(tries.get(), 1);
    }
}
