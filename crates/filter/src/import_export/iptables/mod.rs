//! Rulesets of iptables, as `iptables-save` and `ip6tables-save` print them.
//!
//! ```text
//!  text ──▶ Save: tables, chains ──▶ rule: options → statements of nft ──▶ nft::import
//! ```
//!
//! Rule: an option becomes the statement of nft that matches the same packets, so that both tools
//! share one translation. Both outputs may be in one file: IPv4 and IPv6 rules do not meet.
//! `docs/filter.md` lists the supported subset.

mod limit;
mod options;
mod reader;
mod rule;
mod save;
mod targets;
mod unsupported;
mod values;
mod words;

use super::imported::{ImportOptions, Imported};
use super::nft::import::translate;
use super::{Error, Ruleset};
use crate::language::names::Unique;
use crate::{Policy, Reason};

use save::Save;

/// The family of rules whose output does not name its tool in a comment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    #[default]
    V4,
    V6,
}

/// Reads the output of `iptables-save` or `ip6tables-save`, or both one after the other. A comment
/// at the beginning of each names the tool; without it the rules are of `family`.
///
/// # Errors
/// The text is not such an output, or a rule is not in the supported subset and the options do not
/// permit to leave it out.
pub fn import(text: &str, family: Family, options: &ImportOptions<'_>) -> Result<Imported, Error> {
    let save = Save::read(text, family)?;
    let mut merged: Option<Imported> = None;
    for (listing, chain) in save.chosen(options.chain)? {
        let of_chain = ImportOptions { chain: Some(&chain), ..*options };
        let mut imported = translate(listing, &of_chain)?;
        if options.chain.is_none() {
            imported.approximations.extend(Save::others(listing, &chain));
        }
        merged = Some(match merged {
            Some(first) => merge(first, imported),
            None => imported,
        });
    }
    Ok(merged.unwrap_or_default())
}

/// Rules about other packets, those of IPv6, after the first ones.
fn merge(mut first: Imported, second: Imported) -> Imported {
    let mut names = Unique::default();
    let Ruleset { rules, policies, .. } = second.ruleset;
    for rule in &mut first.ruleset.rules {
        rule.name = names.free(&rule.name, '.');
    }
    for mut rule in rules {
        rule.name = names.free(&format!("{}-v6", rule.name), '.');
        first.ruleset.rules.push(rule);
    }
    if policies.policy(Reason::LaterFragment) == Some(Policy::Track) {
        first.ruleset.policies = policies;
    }
    first.left_out.extend(second.left_out);
    first.approximations.extend(second.approximations);
    first
}

#[cfg(test)]
mod tests;
