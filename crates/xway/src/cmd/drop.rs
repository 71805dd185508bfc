//! `drop`: the built-in drop program with rules, attached or changed in place.

use anyhow::{Result, bail};
use functions::drop::{self, Config, Maps, Rule};
use spec::Spec;

use super::attach::{Target, by_size, mode};
use super::{Context, Exit};
use crate::args::DropArgs;
use crate::state::Generation;
use crate::view::attach::Configured;

pub fn run(args: &DropArgs, context: &Context) -> Result<Exit> {
    let change = Change::parse(args)?;
    let target = Target::open(context, &args.iface)?;
    let live = running(&target, args)?;
    let rules = match &live {
        Some(generation) => update(generation, &change)?,
        None => attach(&target, &change, args)?,
    };
    context.show(&Configured {
        function: NAME,
        interfaces: vec![target.interface.clone()],
        mode: mode(args.placement.mode).name(),
        updated: live.is_some(),
        rules: rules.iter().map(ToString::to_string).collect(),
    })?;
    Ok(Exit::Done)
}

/// What is asked of the rule set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Change {
    /// The whole set; `None` keeps the one in force.
    set: Option<Vec<Rule>>,
    add: Vec<Rule>,
    remove: Vec<Rule>,
}

impl Change {
    fn parse(args: &DropArgs) -> Result<Self> {
        let parse = |texts: &[String]| -> Result<Vec<Rule>> {
            texts.iter().map(|text| Ok(text.parse()?)).collect()
        };
        let set = (!args.rules.is_empty()).then(|| parse(&args.rules)).transpose()?;
        Ok(Self { set, add: parse(&args.add)?, remove: parse(&args.remove)? })
    }

    /// # Errors
    /// A rule to remove is not there: most likely it is misspelt.
    fn of(&self, live: Vec<Rule>) -> Result<Vec<Rule>> {
        let mut rules = self.set.clone().unwrap_or(live);
        for gone in &self.remove {
            if !rules.contains(gone) {
                bail!("there is no rule `{gone}` to remove");
            }
            rules.retain(|rule| rule != gone);
        }
        let fresh: Vec<_> = self.add.iter().filter(|rule| !rules.contains(rule)).collect();
        rules.extend(fresh);
        Ok(rules)
    }
}

/// The drop program that runs there in the wanted mode with the globals it has, if any.
fn running(target: &Target, args: &DropArgs) -> Result<Option<Generation>> {
    if args.placement.replace || !args.placement.set.is_empty() {
        return Ok(None);
    }
    let id = target.running(mode(args.placement.mode))?;
    Ok(id.and_then(|id| target.slot.generation_of(id)).filter(|one| one.name() == NAME))
}

fn update(generation: &Generation, change: &Change) -> Result<Vec<Rule>> {
    let maps = [drop::SHAPES, drop::RULES4, drop::RULES6].map(|name| generation.map(name));
    let [shapes, rules4, rules6] = maps;
    let (shapes, rules4, rules6) = (shapes?, rules4?, rules6?);
    let maps = Maps { shapes: &shapes, rules4: &rules4, rules6: &rules6 };
    let rules = change.of(drop::read(&maps)?.rules())?;
    drop::update(&Config { rules: rules.clone(), ..Config::default() }, &maps)?;
    Ok(rules)
}

fn attach(target: &Target, change: &Change, args: &DropArgs) -> Result<Vec<Rule>> {
    let rules = change.of(Vec::new())?;
    if rules.is_empty() {
        bail!(
            "drop does not run on {}: say what to drop, such as '10.1.0.2 udp 1234'",
            target.interface
        );
    }
    let config = Config { rules, ..Config::default() };
    let mut spec = Spec::parse(NAME, drop::OBJECT)?;
    config.apply(&mut spec)?;
    for (name, value) in &args.placement.set {
        spec.set_global_text(name, value)?;
    }
    by_size(target.has_large_frames(), [drop::PROGRAM, drop::PROGRAM_FRAGS], |program| {
        let object = target.load(&spec, vec![program.to_owned()], args.placement.mode)?;
        drop::update(&config, &Maps::find(|name| object.map(name))?)?;
        target.install(NAME, &object, program, &args.placement)?.commit()
    })?;
    Ok(config.rules)
}

const NAME: &str = "drop";

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn rules_are_set_added_and_removed() {
        let live = || rules(&["10.0.0.1", "any udp 53"]);
        let add = Change { add: rules(&["10.0.0.1", "10.0.0.2"]), ..Change::default() };
        assert_eq!(add.of(live()).unwrap(), rules(&["10.0.0.1", "any udp 53", "10.0.0.2"]));
        let remove = Change { remove: rules(&["any udp 53"]), ..Change::default() };
        assert_eq!(remove.of(live()).unwrap(), rules(&["10.0.0.1"]));
        let set = Change { set: Some(rules(&["any icmp"])), ..Change::default() };
        assert_eq!(set.of(live()).unwrap(), rules(&["any icmp"]));
        let wrong = Change { remove: rules(&["any udp 54"]), ..Change::default() };
        assert!(wrong.of(live()).unwrap_err().to_string().contains("any udp 54"));
    }
}
