//! A balancer as declarations have it: what differs, and a change together with other programs.

use functions::balancer::{self, Config, Maps, Out};
use spec::Spec;
use sys::net::{Ifindex, Netlink};

use super::{
    Attachment, BalanceOptions, NAME, OwnMaps, Running, allow, nat, ports, prepare, spec, sync,
};
use crate::Control;
use crate::composition::{Chain, LoadedChain};
use crate::error::Result;
use crate::record::Record;
use crate::state::{Slot, Transaction};
use crate::target::Target;

/// The services as the text of a file.
pub fn text(config: &Config) -> String {
    toml::to_string(config).unwrap_or_default()
}

/// Two texts to be compared, which state whether the keys differ and not what they are.
pub fn texts_without_key(old: &Config, new: &Config) -> [String; 2] {
    let is_same = old.key == new.key;
    [(old, "the key that runs"), (new, "another key")].map(|(config, shown)| {
        let shown = if is_same { "a key" } else { shown };
        let key = config.key.as_ref().map(|_| shown.to_owned());
        let mut config = Config { key, ..config.clone() };
        for quic in config.services.iter_mut().flat_map(|one| &mut one.quic) {
            quic.key = None;
        }
        text(&config)
    })
}

/// The interface whose declaration has the balancer that runs on one; `None` if none runs, or if it
/// runs on this interface alone.
///
/// # Errors
/// The state directory cannot be read.
pub fn owner(
    control: &Control,
    slot: &Slot,
    (ifindex, out): (Ifindex, &[String]),
) -> Result<Option<String>> {
    match Running::find(slot, ifindex)? {
        Some(running) => nat::owner(control, &running, out),
        None => Ok(None),
    }
}

/// Whether a file of services has keys.
pub fn is_secret(config: &Config) -> bool {
    let mut quic = config.services.iter().flat_map(|one| &one.quic);
    config.key.is_some() || quic.any(|one| one.key.is_some())
}

/// The wanted configuration, with the outer sources that were found for the running one.
pub fn completed(wanted: &Config, running: &Config) -> Config {
    let mut config = wanted.clone();
    for one in &running.source {
        if config.source(one.0.address().is_ipv4()).is_none() {
            config.source.push(*one);
        }
    }
    config
}

/// Whether a running program can continue with another configuration: what it was loaded with is
/// the same.
pub fn has_same_constants(old: &Config, new: &Config) -> bool {
    let constants = |config: &Config| {
        let nat = config.nat.clone().filter(|_| config.translates());
        (config.key.clone(), config.malformed, config.flows, nat, config.translates())
    };
    constants(old) == constants(new)
}

/// A balancer that changes with other members of a chain.
pub struct NewBalancer<'t> {
    /// The declared interface, and those that it translates on as well.
    targets: &'t [&'t Target],
    config: Config,
    options: BalanceOptions,
    object: Spec,
    program: &'static str,
    /// The programs of the other interfaces, if all continue, and their new record.
    remaining: Option<(Vec<Running>, Record)>,
    /// The maps of a program that is replaced.
    old: Option<OwnMaps>,
    /// Backends that checks took out.
    lost: Out,
}

impl<'t> NewBalancer<'t> {
    /// Puts the program into the chain of the first interface. If it is a member and only its
    /// services change, it keeps its maps, with what it remembers.
    pub fn put(
        chain: &mut Chain<'_>,
        targets: &'t [&'t Target],
        (options, large): (&BalanceOptions, bool),
    ) -> Result<Self> {
        let target = targets[0];
        let targets = if options.config.translates() { targets } else { &targets[..1] };
        let config = prepare(targets, options)?;
        let placement = &options.placement;
        let running = Running::find(&target.slot, target.ifindex)?;
        let remains = running.as_ref().is_some_and(|running| running.can_remain(placement));
        let (object, program) = (spec(&config, options)?, program(large));
        let options = options.clone();
        let lost = Out::default();
        let (remaining, old) = (None, None);
        let mut new = Self { targets, config, options, object, program, remaining, old, lost };
        match running {
            Some(running) if remains => new.continue_with(chain, &running)?,
            running => new.replace(chain, running.as_ref())?,
        }
        Ok(new)
    }

    fn continue_with(&mut self, chain: &mut Chain<'_>, running: &Running) -> Result<()> {
        let (target, placement) = (self.targets[0], &self.options.placement);
        let control = target.slot.control();
        nat::check_same(control, running, self.targets, &self.config)?;
        let known = Record::read(&running.generation)?.unwrap_or_default();
        let wanted = Record::of_balancer(&self.config, &self.options.out, placement);
        let declaration = wanted.declaration.or(known.declaration);
        let record = Record { declaration, ..wanted };
        chain.link(NAME)?.beside.push(record.map());
        let mut others = nat::together(control, running)?;
        others.retain(|(name, _)| *name != target.interface);
        self.remaining = Some((others.into_iter().map(|(_, one)| one).collect(), record));
        Ok(())
    }

    fn replace(&mut self, chain: &mut Chain<'_>, old: Option<&Running>) -> Result<()> {
        let (config, placement) = (&self.config, &self.options.placement);
        self.lost = old.map(|old| old.out(config)).transpose()?.unwrap_or_default();
        let prepared = old.map(|old| sync::prepare(old, config, &mut self.object)).transpose()?;
        self.old = prepared.flatten();
        chain.place(placement, nat::member(&self.object, self.program, placement))
    }

    /// Fills the maps of the loaded program. Services of a program that continues change here.
    pub fn fill(&self, chain: &LoadedChain<'_>) -> Result<()> {
        let (config, options, target) = (&self.config, &self.options, self.targets[0]);
        let maps = Maps::find(|name| chain.map(NAME, name))?;
        let out = ports::named(target.ifindex, &options.out)?;
        if self.remaining.is_some() {
            balancer::update(config, &maps)?;
        } else {
            let attachment = Attachment { config, out: &out, options, lost: &self.lost };
            attachment.fill(target.slot.control(), &maps, self.old.as_ref())?;
        }
        allow(chain.map(NAME, balancer::TX)?, &out)?;
        let links = Netlink::open()?.links()?;
        let devices: Vec<_> = self.targets.iter().map(|target| target.ifindex).collect();
        ports::write(|name| chain.map(NAME, name), &devices, &links)
    }

    /// Loads the programs of the other interfaces, with the tables of the first; none if they
    /// continue.
    pub fn load_others(&self, first: &LoadedChain<'_>) -> Result<Vec<nat::Program<'t>>> {
        if self.remaining.is_some() {
            return Ok(Vec::new());
        }
        let shared = nat::tables(&self.object, |name| first.map(NAME, name))?;
        let (code, placement) = ((&self.object, self.program), &self.options.placement);
        let others = self.targets[1..].iter();
        others.map(|target| nat::Program::load(target, code, placement, &shared)).collect()
    }

    /// Attaches the programs of the other interfaces.
    ///
    /// # Errors
    /// Another owner's program runs, or the kernel refuses one.
    pub fn install_others(&self, programs: Vec<nat::Program<'t>>) -> Result<Vec<Transaction>> {
        let others = self.targets[1..].iter().zip(programs);
        let placement = &self.options.placement;
        others.map(|(target, one)| one.install(target, self.program, placement)).collect()
    }

    /// Stores the record with the programs of other interfaces that continue.
    ///
    /// # Errors
    /// A record cannot be replaced.
    pub fn record(&self) -> Result<()> {
        let Some((others, record)) = &self.remaining else { return Ok(()) };
        others.iter().try_for_each(|one| record.replace(&one.generation))
    }
}

const fn program(large: bool) -> &'static str {
    if large { balancer::PROGRAM_FRAGS } else { balancer::PROGRAM }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_that_were_found_are_not_a_difference() {
        let config = |text: &str| -> Config { toml::from_str(text).unwrap() };
        let running = config("source = ['10.0.0.1/32', '2001:db8::1/128']");
        for (wanted, is_same) in [
            ("", true),
            ("source = ['2001:db8::1/128']", true),
            ("source = ['10.0.0.2/32']", false),
        ] {
            let mut found = completed(&config(wanted), &running);
            found.source.sort();
            assert_eq!(found == running, is_same, "{wanted}");
        }
    }

    #[test]
    fn keys_are_not_shown() {
        let config = |key: &str| Config { key: Some(key.to_owned()), ..Config::default() };
        let [old, new] = texts_without_key(&config("hunter"), &config("hunter2"));
        assert!(old != new && !old.contains("hunter") && !new.contains("hunter"));
        let [old, new] = texts_without_key(&config("hunter"), &config("hunter"));
        assert!(old == new && !old.contains("hunter"));
    }

    #[test]
    fn constants_are_those_that_the_program_was_loaded_with() {
        let config = |text: &str| -> Config { toml::from_str(text).unwrap() };
        let old = config("source = ['10.0.0.1']");
        assert!(has_same_constants(&old, &config("")));
        for text in ["key = 'x'", "malformed = 'drop'", "flows = 7"] {
            assert!(!has_same_constants(&old, &config(text)), "{text}");
        }
    }
}
