//! `drop`: the built-in drop program with rules, attached or changed in place.

use anyhow::{Result, bail};
use functions::drop::{self, Config, Maps, Rule};
use kernel::{Map, Mode};
use spec::Spec;

use super::attach::{Target, by_size, mode};
use super::{Context, Exit};
use crate::args::DropArgs;
use crate::view::attach::Configured;

pub fn run(args: &DropArgs, context: &Context) -> Result<Exit> {
    let change = Change::parse(args)?;
    let target = Target::open(context, &args.iface)?;
    let live = Live::find(&target)?;
    let rules = change.of(live.as_ref().map_or(Ok(Vec::new()), Live::rules)?)?;
    let in_place = live.filter(|live| live.can_stay(args));
    match &in_place {
        Some(live) => live.update(&rules)?,
        None => attach(&target, &rules, args)?,
    }
    context.show(&Configured {
        function: NAME,
        interfaces: vec![target.interface.clone()],
        mode: in_place.as_ref().map_or(mode(args.placement.mode), |live| live.mode).name(),
        updated: in_place.is_some(),
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

/// The drop program that runs on an interface.
struct Live {
    mode: Mode,
    /// Shapes and rules of both address families.
    maps: [Map; 3],
}

impl Live {
    /// In whatever mode; `None` when xway runs something else there, or nothing.
    fn find(target: &Target) -> Result<Option<Self>> {
        for mode in Mode::ALL {
            let id = target.running(mode)?;
            let generation = id.map_or(Ok(None), |id| target.slot.generation_of(id))?;
            if let Some(generation) = generation.filter(|one| one.name() == NAME) {
                let [shapes, rules4, rules6] =
                    [drop::SHAPES, drop::RULES4, drop::RULES6].map(|name| generation.map(name));
                return Ok(Some(Self { mode, maps: [shapes?, rules4?, rules6?] }));
            }
        }
        Ok(None)
    }

    /// Whether changing its rules, or telling them, is all that is asked for.
    fn can_stay(&self, args: &DropArgs) -> bool {
        let placement = &args.placement;
        let only_asked = args.rules.is_empty() && args.add.is_empty() && args.remove.is_empty();
        let fits = mode(placement.mode) == self.mode || only_asked;
        fits && !placement.replace && placement.set.is_empty()
    }

    fn rules(&self) -> Result<Vec<Rule>> {
        Ok(drop::read(&self.maps())?.rules())
    }

    fn update(&self, rules: &[Rule]) -> Result<()> {
        drop::update(&Config { rules: rules.to_vec(), ..Config::default() }, &self.maps())?;
        Ok(())
    }

    fn maps(&self) -> Maps<'_, Map> {
        let [shapes, rules4, rules6] = &self.maps;
        Maps { shapes, rules4, rules6 }
    }
}

fn attach(target: &Target, rules: &[Rule], args: &DropArgs) -> Result<()> {
    if rules.is_empty() {
        bail!(
            "drop does not run on {}: say what to drop, such as '10.1.0.2 udp 1234'",
            target.interface
        );
    }
    let config = Config { rules: rules.to_vec(), ..Config::default() };
    let mut spec = Spec::parse(NAME, drop::OBJECT)?;
    config.apply(&mut spec)?;
    for (name, value) in &args.placement.set {
        spec.set_global_text(name, value)?;
    }
    by_size(target.has_large_frames(), [drop::PROGRAM, drop::PROGRAM_FRAGS], |program| {
        let object = target.load(&spec, vec![program.to_owned()], args.placement.mode)?;
        drop::update(&config, &Maps::find(|name| object.map(name))?)?;
        target.install(NAME, &object, program, &args.placement)?.commit()
    })
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
