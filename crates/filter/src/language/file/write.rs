//! Writes a `File` as TOML.

use std::fmt::Write;

use super::File;
use crate::{Policies, Source};

/// The text of a file.
pub(super) fn file(file: &File) -> String {
    let mut text = format!("default = {}\n", quoted(&file.ruleset.default.to_string()));
    text.push_str("rules = [\n");
    for rule in &file.ruleset.rules {
        line(&mut text, format_args!("  {},", quoted(&rule.to_string())));
    }
    text.push_str("]\n");
    policies(&mut text, &file.ruleset.policies);
    if !file.scope.sets.is_empty() {
        text.push_str("\n[sets]\n");
    }
    for (name, set) in file.scope.sets.iter() {
        // Without quotes, dots in a name would separate keys.
        let name = quoted(name);
        match &set.source {
            Source::File(path) => {
                let path = quoted(&path.display().to_string());
                line(&mut text, format_args!("{name} = {{ file = {path} }}"));
            }
            Source::List(items) => {
                let items: Vec<_> = items.iter().map(|item| quoted(item)).collect();
                line(&mut text, format_args!("{name} = [{}]", items.join(", ")));
            }
        }
    }
    text
}

/// Writes the policies that differ from the defaults.
fn policies(text: &mut String, policies: &Policies) {
    let usual = Policies::default();
    let mut others = policies.iter().filter(|(anomaly, it)| usual.policy(*anomaly) != Some(*it));
    let mut head = "\n[policy]\n";
    others.by_ref().for_each(|(anomaly, policy)| {
        text.push_str(std::mem::take(&mut head));
        line(text, format_args!("{} = \"{}\"", anomaly.label(), policy.label()));
    });
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    // A string takes all that it is given.
    let _ = writeln!(text, "{what}");
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
