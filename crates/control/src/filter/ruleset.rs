//! Files of rules on their way into the kernel and back.
//!
//! Rule: what is kept with a program needs no other file: sets that stood in files of their own
//! stand in it. So rules can be changed when those files are gone, and mean what they meant.

use std::path::Path;

use filter::act::Sizes;
use filter::plan::Budget;
use filter::{Action, Compiled, Environment, File, Form, Ruleset, Source, compile};
use sys::net::Netlink;
use sys::thread::monotonic_ns;

use super::{listeners, source};
use crate::error::{Context as _, Result};
use crate::target::Target;

/// The text to be kept.
pub fn to_keep(file: &File) -> String {
    let mut whole = file.clone();
    for (name, set) in file.scope.sets.iter() {
        if matches!(set.source, Source::File(_)) {
            whole.scope.sets.insert_list(name, (*set.addresses).clone());
        }
    }
    whole.to_toml()
}

/// Reads kept text.
pub fn kept(text: &str) -> Result<File> {
    let file = File::parse("the rules in force", text, Path::new(""), source::expression);
    file.context("the rules in force cannot be read: another version of xway put them there")
}

/// What makes a rule of one ruleset the same as a rule of another: name and text.
pub fn identities(rules: &Ruleset) -> Vec<String> {
    rules.rules.iter().map(|rule| format!("{}: {}", rule.name, rule.body())).collect()
}

/// Rules as a program of this form for an interface of this host; `bans`: somebody may be banned by
/// hand.
pub fn compiled(rules: &Ruleset, bans: bool, target: &Target, form: Form) -> Result<Compiled> {
    let mut environment = Environment { form, ..environment(bans)? };
    // Only a SYN proxy speaks for this host, and not every namespace shows all of that.
    if rules.rules.iter().any(|rule| matches!(rule.action, Action::SynProxy(_))) {
        environment.sizes.listeners = Some(listeners::here(target)?);
    }
    Ok(compile(rules, &environment)?)
}

/// This host as compiled rules see it, from whatever interface.
pub fn environment(bans: bool) -> Result<Environment> {
    let links = Netlink::open()?.links()?.into_iter();
    Ok(Environment {
        interfaces: links.map(|link| (link.name, link.ifindex.0)).collect(),
        sizes: Sizes { manual_bans: bans, now_ns: monotonic_ns(), ..Sizes::default() },
        budget: Budget::default(),
        form: Form::default(),
    })
}

/// Puts on the program that is faster; where this kernel's verifier refuses that, the one with less
/// to verify. Were both refused, the first refusal is the one to tell.
pub fn by_form<T>(put: impl Fn(Form) -> Result<T>) -> Result<T> {
    put(Form::Fast).or_else(|refused| match refused.kernel() {
        Some(kernel::Error::Verifier { .. }) => put(Form::Small).map_err(|_| refused),
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
        Err::<(), _>(error).context("the rules were not put in force").unwrap_err()
    }

    #[test]
    fn what_a_verifier_refuses_is_tried_with_less_to_verify() {
        let taken = by_form(|form| match form {
            Form::Fast => Err(refused("BPF program is too large. Processed 1000001 insn")),
            Form::Small => Ok("small"),
        });
        assert_eq!(taken.unwrap(), "small");
    }

    #[test]
    fn of_two_refusals_the_first_is_told_and_other_errors_are_final() {
        let both = by_form(|form| Err::<(), _>(refused(&format!("{form:?}"))));
        assert!(full(&both.unwrap_err()).contains("Fast"));
        let tries = Cell::new(0);
        let other = by_form(|_| {
            tries.set(tries.get() + 1);
            Err::<(), _>(Error::Malformed("no such interface".to_owned()))
        });
        assert!(other.is_err());
        assert_eq!(tries.get(), 1);
    }
}
