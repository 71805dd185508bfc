//! A balancer as declarations have it: what differs, and a change together with other programs.

use functions::balancer::{self, Config, Maps, Out};
use spec::Spec;
use sys::net::Netlink;

use super::{
    Attachment, BalanceOptions, NAME, OwnMaps, Running, allow, nat, ports, prepare, spec, sync,
};
use crate::composition::{Chain, LoadedChain};
use crate::error::{FunctionError, Result};
use crate::record::Record;
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
    let constants = |config: &Config| (config.key.clone(), config.malformed, config.flows);
    constants(old) == constants(new)
}

/// A balancer that changes with other members of a chain.
#[derive(Debug)]
pub struct NewBalancer {
    config: Config,
    options: BalanceOptions,
    /// Whether the program that runs continues.
    remains: bool,
    /// The maps of a program that is replaced.
    old: Option<OwnMaps>,
    /// Backends that checks took out.
    lost: Out,
}

impl NewBalancer {
    /// Puts the program into a chain. If it is a member and only its services change, it keeps its
    /// maps, with what it remembers.
    pub fn put(
        chain: &mut Chain<'_>,
        target: &Target,
        (options, large): (&BalanceOptions, bool),
    ) -> Result<Self> {
        let config = {
            let others = options.out.iter().any(|name| *name != target.interface);
            if options.config.translates() && others {
                let interface = target.interface.clone();
                return Err(FunctionError::NatTogether { interface }.into());
            }
            prepare((target, &[]), options)?
        };
        let placement = &options.placement;
        let running = Running::find(&target.slot, target.ifindex)?;
        let remains = running.as_ref().is_some_and(|running| running.can_remain(placement));
        let (mut old, mut lost) = (None, Out::default());
        match running {
            Some(running) if remains => {
                let known = Record::read(&running.generation)?.unwrap_or_default();
                let wanted = Record::of_balancer(&config, &options.out, placement);
                let declaration = wanted.declaration.or(known.declaration);
                let record = Record { declaration, ..wanted };
                chain.link(NAME)?.beside.push(record.map());
            }
            running => {
                let program = program(large);
                let mut spec: Spec = spec(&config, options)?;
                let replaced = running.as_ref();
                lost = replaced.map(|old| old.out(&config)).transpose()?.unwrap_or_default();
                old = replaced
                    .map(|old| sync::prepare(old, &config, &mut spec))
                    .transpose()?
                    .flatten();
                chain.place(placement, nat::member(&spec, program, placement))?;
            }
        }
        Ok(Self { config, options: options.clone(), remains, old, lost })
    }

    /// Fills the maps of the loaded program. Services of a program that continues change here.
    pub fn fill(&self, chain: &LoadedChain<'_>, target: &Target) -> Result<()> {
        let (config, options) = (&self.config, &self.options);
        let maps = Maps::find(|name| chain.map(NAME, name))?;
        let out = ports::named(target.ifindex, &options.out)?;
        if self.remains {
            balancer::update(config, &maps)?;
        } else {
            let attachment = Attachment { config, out: &out, options, lost: &self.lost };
            attachment.fill(target.slot.control(), &maps, self.old.as_ref())?;
        }
        allow(chain.map(NAME, balancer::TX)?, &out)?;
        let links = Netlink::open()?.links()?;
        ports::write(|name| chain.map(NAME, name), &[target.ifindex], &links)
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
