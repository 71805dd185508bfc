//! The built-in `drop` program: attached with rules, or its rules changed in place.

use functions::drop::{self, Config, Maps, Rule};
use kernel::{Map, Mode};
use spec::{Runtime as _, Spec};
use sys::net::{Ifindex, Netlink};

use crate::chain;
use crate::composition::{self, Chain, LoadedChain, link::ChainLink};
use crate::counters::missing_labels;
use crate::declaration::table::table_of;
use crate::error::{FunctionError, Result};
use crate::lockout;
use crate::record::Record;
use crate::state::{Generation, Slot};
use crate::target::{Target, by_frame_size};
use crate::{Configured, Control, Placement};

/// A change of the rules of `drop`.
#[derive(Clone, Debug, Default)]
pub struct DropOptions {
    /// The complete set of rules; `None` keeps the loaded ones.
    pub set: Option<Vec<Rule>>,
    /// Rules to add; those that are loaded already are left out.
    pub add: Vec<Rule>,
    /// Rules to remove, which must be loaded.
    pub remove: Vec<Rule>,
    pub placement: Placement,
}

/// Sets, adds or removes rules of the `drop` program on an interface. Attaches the program if it
/// does not run; reports the loaded rules if no change is requested.
///
/// # Errors
/// A rule to remove is not loaded, the program is to be attached without rules, or the kernel
/// refuses the change; then the old rules remain.
pub fn configure(control: &Control, interface: &str, options: &DropOptions) -> Result<Configured> {
    let target = Target::open(control, interface)?;
    let running = RunningDrop::find(&target.slot, target.ifindex)?;
    let rules = options.apply_to(running.as_ref().map_or(Ok(Vec::new()), RunningDrop::rules)?)?;
    if !options.is_query() {
        check_lockout(control, &target, &rules, &options.placement)?;
    }
    let in_place = running.filter(|running| running.can_stay(options));
    match &in_place {
        Some(_) if options.is_query() => {}
        Some(running) => {
            target.require_confirmed()?;
            running.update(&rules)?;
            if let Some(declaration) = &options.placement.declaration {
                let record = Record::read(&running.generation)?.unwrap_or_default();
                record.declared_by(declaration).replace(&running.generation)?;
            }
        }
        None => attach(&target, &rules, &options.placement)?,
    }
    Ok(Configured {
        function: NAME,
        mode: in_place.as_ref().map_or(options.placement.mode, |one| one.mode).name(),
        interfaces: vec![target.interface],
        updated: in_place.is_some(),
        rules: rules.iter().map(ToString::to_string).collect(),
    })
}

impl DropOptions {
    /// # Errors
    /// A rule to remove is not loaded: most likely it is misspelled.
    fn apply_to(&self, loaded: Vec<Rule>) -> Result<Vec<Rule>, FunctionError> {
        let mut rules = self.set.clone().unwrap_or(loaded);
        for gone in &self.remove {
            if !rules.contains(gone) {
                return Err(FunctionError::NoSuchRule { rule: gone.to_string() });
            }
            rules.retain(|rule| rule != gone);
        }
        let fresh: Vec<_> = self.add.iter().filter(|rule| !rules.contains(rule)).collect();
        rules.extend(fresh);
        Ok(rules)
    }

    /// Whether the loaded rules are only to be reported.
    fn is_query(&self) -> bool {
        self.set.is_none() && self.add.is_empty() && self.remove.is_empty()
    }
}

/// The drop program that runs on an interface.
pub(crate) struct RunningDrop {
    pub mode: Mode,
    pub generation: Generation,
    /// Shapes and rules of both address families.
    maps: [Map; 3],
}

impl RunningDrop {
    /// Finds it in any mode; `None` if the interface runs another program, or none.
    pub fn find(slot: &Slot, ifindex: Ifindex) -> Result<Option<Self>> {
        let running = Netlink::open()?.link_by_index(ifindex)?.xdp;
        for (mode, id) in running.programs() {
            let generations = slot.generations_of(id)?;
            let generation = generations.into_iter().find(|one| one.name() == NAME);
            if let Some(generation) = generation {
                let [shapes, rules4, rules6] =
                    [drop::SHAPES, drop::RULES4, drop::RULES6].map(|name| generation.map(name));
                let maps = [shapes?, rules4?, rules6?];
                return Ok(Some(Self { mode, generation, maps }));
            }
        }
        Ok(None)
    }

    /// Whether the request needs no other program: it changes or reports rules only.
    fn can_stay(&self, options: &DropOptions) -> bool {
        let placement = &options.placement;
        let fits = placement.mode == self.mode || options.is_query();
        fits && !placement.replace && self.only_rules(placement) && placement.confirm.is_none()
    }

    /// Whether a program that is placed so differs in its rules alone.
    fn only_rules(&self, placement: &Placement) -> bool {
        !placement.renews() && self.has_globals(&placement.set)
    }

    /// Whether it was loaded with these values of global variables, or none are given.
    fn has_globals(&self, set: &[(String, String)]) -> bool {
        let record = || Record::read(&self.generation).ok().flatten();
        set.is_empty() || record().is_some_and(|record| record.program.set == table_of(set))
    }

    pub fn rules(&self) -> Result<Vec<Rule>> {
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

/// # Errors
/// The rules would end the session of this process.
fn check_lockout(
    control: &Control,
    target: &Target,
    rules: &[Rule],
    placement: &Placement,
) -> Result<()> {
    let config = Config { rules: rules.to_vec(), ..Config::default() };
    let mut spec = Spec::parse(NAME, drop::OBJECT)?;
    config.apply(&mut spec)?;
    let program = (&spec, drop::PROGRAM);
    lockout::check_program(control, program, target.place(), placement.lockout(), |engine| {
        if let Ok(maps) = Maps::find(|name| engine.map(name).ok_or(())) {
            // Maps that cannot be filled leave a program that drops nothing.
            let _ = drop::update(&config, &maps);
        }
    })
}

fn attach(target: &Target, rules: &[Rule], placement: &Placement) -> Result<()> {
    let spec = spec(target, rules, placement)?;
    let config = Config { rules: rules.to_vec(), ..Config::default() };
    by_frame_size(target.has_large_frames(), [drop::PROGRAM, drop::PROGRAM_FRAGS], |program| {
        if composition::joins(target, placement)? {
            let mut chain = chain::open(target)?;
            chain.place(placement, link(&spec, program, placement))?;
            let loaded = chain.load()?;
            drop::update(&config, &Maps::find(|name| loaded.map(NAME, name))?)?;
            return loaded.commit().map(std::mem::drop);
        }
        let object = target.load(&spec, (program, &[]), placement, Vec::new())?;
        drop::update(&config, &Maps::find(|name| object.map(name))?)?;
        target.install(NAME, &object, program, placement)?.commit()
    })
}

/// The object with its options.
fn spec(target: &Target, rules: &[Rule], placement: &Placement) -> Result<Spec> {
    if rules.is_empty() {
        return Err(FunctionError::NoRules { interface: target.interface.clone() }.into());
    }
    let mut spec = Spec::parse(NAME, drop::OBJECT)?;
    Config::default().apply(&mut spec)?;
    for (name, value) in &placement.set {
        spec.set_global_text(name, value)?;
    }
    Record::of_drop(placement).add_to(&mut spec, placement.mode);
    Ok(spec)
}

/// The program as a member.
fn link(spec: &Spec, program: &str, placement: &Placement) -> ChainLink {
    let mut spec = spec.clone();
    spec.maps.extend(missing_labels(&spec));
    ChainLink::new(placement.member(NAME, program), spec)
}

/// Rules of a member that is changed together with others.
#[derive(Debug)]
pub(crate) struct DropRules(Config);

impl DropRules {
    /// Puts the program into a chain. If it is a member and only its rules change, it keeps all
    /// other maps; the earlier rules decide until the chain is swapped.
    pub fn put(
        chain: &mut Chain<'_>,
        target: &Target,
        (options, large): (&DropOptions, bool),
    ) -> Result<Self> {
        let running = RunningDrop::find(&target.slot, target.ifindex)?;
        let rules =
            options.apply_to(running.as_ref().map_or(Ok(Vec::new()), RunningDrop::rules)?)?;
        check_lockout(target.slot.control(), target, &rules, &options.placement)?;
        let placement = &options.placement;
        let program = if large { drop::PROGRAM_FRAGS } else { drop::PROGRAM };
        let spec = spec(target, &rules, placement)?;
        let config = Config { rules, ..Config::default() };
        match running.filter(|running| running.only_rules(placement)) {
            Some(running) => {
                let record = Record::read(&running.generation)?.unwrap_or_default();
                let record = match &placement.declaration {
                    Some(declaration) => record.declared_by(declaration),
                    None => record,
                };
                let link = chain.link(NAME)?;
                link.beside.push(record.map());
                link.renewed = [drop::SHAPES, drop::RULES4, drop::RULES6].map(str::to_owned).into();
            }
            None => chain.place(placement, link(&spec, program, placement))?,
        }
        Ok(Self(config))
    }

    /// Fills the maps of the loaded program, which does not run yet.
    pub fn fill(&self, chain: &LoadedChain<'_>) -> Result<()> {
        drop::update(&self.0, &Maps::find(|name| chain.map(NAME, name))?)?;
        Ok(())
    }
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
        let loaded = || rules(&["10.0.0.1", "any udp 53"]);
        let add = DropOptions { add: rules(&["10.0.0.1", "10.0.0.2"]), ..DropOptions::default() };
        assert_eq!(add.apply_to(loaded()).unwrap(), rules(&["10.0.0.1", "any udp 53", "10.0.0.2"]));
        let remove = DropOptions { remove: rules(&["any udp 53"]), ..DropOptions::default() };
        assert_eq!(remove.apply_to(loaded()).unwrap(), rules(&["10.0.0.1"]));
        let set = DropOptions { set: Some(rules(&["any icmp"])), ..DropOptions::default() };
        assert_eq!(set.apply_to(loaded()).unwrap(), rules(&["any icmp"]));
        let wrong = DropOptions { remove: rules(&["any udp 54"]), ..DropOptions::default() };
        assert!(wrong.apply_to(loaded()).unwrap_err().to_string().contains("any udp 54"));
    }
}
