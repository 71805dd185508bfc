//! `TemporaryRules`: rules that are added for a time and then removed.
//!
//! Rule: the time is part of the rules, so they expire even if this process is killed. At the end,
//! only these rules are removed. They are added after all others, so packets that an earlier rule
//! decides are not affected.

use filter::File;

use super::active::ActiveFilter;
use super::load::{ApplyOptions, FilterPlacement};
use super::update::Update;
use super::{ruleset, source};
use crate::Control;
use crate::error::Result;

/// Rules that were added for a time.
#[derive(Clone, Debug)]
pub struct TemporaryRules {
    interface: String,
    names: Vec<String>,
    /// Names and texts, by which the rules are recognized.
    identities: Vec<String>,
    /// No filter ran before.
    is_alone: bool,
}

impl TemporaryRules {
    /// Rules of the active filter that a detection added under names that begin with `prefix`,
    /// perhaps in another process. Removing them leaves the filter.
    pub fn find(active: &ActiveFilter, interface: &str, prefix: &str) -> Result<Self> {
        let (rules, recorded) = (active.rules()?, active.record()?.temporary);
        let is_own = |name: &String| name.starts_with(prefix) && recorded.contains(name);
        let identities = ruleset::identities(&rules).into_iter().zip(&rules.rules);
        let own = identities.filter(|(_, rule)| is_own(&rule.name));
        let (identities, names) = own.map(|(one, rule)| (one, rule.name.clone())).unzip();
        Ok(Self { interface: interface.to_owned(), names, identities, is_alone: false })
    }

    /// Adds rules with unused names that begin with `prefix`, after all others. The rules should
    /// expire (`drop for 60s`). `None` if `rules` is empty.
    ///
    /// # Errors
    /// A rule is malformed, or the kernel refuses the program; then nothing has changed.
    pub fn add(
        update: &Update,
        prefix: &str,
        rules: &[&str],
        placement: &FilterPlacement,
    ) -> Result<Option<Self>> {
        if rules.is_empty() {
            return Ok(None);
        }
        let mut file = update.rules()?.unwrap_or_default();
        file.scope.compile = source::expression;
        let mut names = Vec::new();
        for rule in rules {
            let mut free = (1_u32..).map(|number| format!("{prefix}{number}"));
            let name = free.find(|name| file.ruleset.number(name).is_none()).unwrap_or_default();
            file.insert(usize::MAX, &format!("{name}: {rule}"))?;
            names.push(name);
        }
        let options = ApplyOptions::with_placement(placement);
        update.apply(&file, &ApplyOptions { temporary: names.clone(), ..options })?;
        let all = ruleset::identities(&file.ruleset).into_iter();
        let identities = all.skip(file.ruleset.rules.len() - names.len()).collect();
        let interface = update.interface().to_owned();
        Ok(Some(Self { interface, names, identities, is_alone: update.active().is_none() }))
    }

    /// Forgets rules with other names.
    pub fn retain(&mut self, names: &[String]) {
        let kept = self.names.iter().map(|name| names.contains(name)).collect::<Vec<_>>();
        let (mut of_names, mut of_identities) = (kept.iter(), kept.iter());
        self.names.retain(|_| of_names.next() == Some(&true));
        self.identities.retain(|_| of_identities.next() == Some(&true));
    }

    /// Names of the rules, in the order in which they were given.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Removes those of the rules that are still loaded, and the filter if it was loaded for them
    /// and nothing was added. Returns the number of packets that the rules matched; `None` if no
    /// filter runs any more.
    pub fn remove(&self, control: &Control) -> Result<Option<u64>> {
        let update = Update::begin(control, &self.interface)?;
        let Some(active) = update.active() else { return Ok(None) };
        let matched = self.matched(active)?;
        let mut file = active.editable()?;
        let mut identities = ruleset::identities(&file.ruleset).into_iter();
        file.ruleset.rules.retain(|_| !identities.next().is_some_and(|one| self.contains(&one)));
        if self.is_alone && file.to_toml() == File::default().to_toml() {
            update.unload()?;
        } else {
            update.apply(&file, &ApplyOptions::default())?;
        }
        Ok(Some(matched))
    }

    fn matched(&self, active: &ActiveFilter) -> Result<u64> {
        let counts = active.rule_counts()?;
        let all = ruleset::identities(&active.rules()?).into_iter().zip(&counts);
        let own = all.filter(|(identity, _)| self.contains(identity));
        Ok(own.map(|(_, count)| count.packets).sum())
    }

    fn contains(&self, identity: &String) -> bool {
        self.identities.contains(identity)
    }
}

/// Appends the unexpired temporary rules of the active filter to rules that replace it, and returns
/// their names. A rule whose name is in use, or whose sets do not exist any more, is left out.
pub(crate) fn keep(active: Option<&ActiveFilter>, file: &mut File) -> Result<Vec<String>> {
    let Some(active) = active else { return Ok(Vec::new()) };
    let recorded = active.record()?.temporary;
    if recorded.is_empty() {
        return Ok(Vec::new());
    }
    file.scope.compile = source::expression;
    let mut kept = Vec::new();
    for rule in active.unexpired()?.ruleset.rules {
        let is_free = file.ruleset.number(&rule.name).is_none();
        let line = format!("{}: {}", rule.name, rule.body());
        if recorded.contains(&rule.name) && is_free && file.insert(usize::MAX, &line).is_ok() {
            kept.push(rule.name);
        }
    }
    Ok(kept)
}
