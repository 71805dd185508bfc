//! Options that are constants of the loaded program: a running router cannot change them.

use functions::route::Config;
use spec::{Map as _, Spec};

use super::NAME;
use crate::error::{Malformed, Result};
use crate::state::Generation;

/// The program's constants for a configuration.
#[derive(Debug)]
pub(super) struct Constants {
    spec: Spec,
}

impl Constants {
    pub fn of(config: &Config) -> Result<Self> {
        let mut spec = Spec::parse(NAME, config.object())?;
        config.apply(&mut spec)?;
        Ok(Self { spec })
    }

    /// Whether a running program has the same value of a constant.
    pub fn equal(&self, generation: &Generation, name: &'static str) -> Result<bool> {
        let globals = self.spec.globals();
        let global = globals.iter().find(|global| global.name == name);
        let global = global.ok_or(Malformed::NoGlobal { object: NAME, name })?;
        let live = generation.map(&global.section)?.lookup(&0_u32.to_ne_bytes())?;
        let wanted = self.spec.map(&global.section).and_then(|map| map.contents.as_deref());
        let place = global.offset as usize..(global.offset + global.size) as usize;
        Ok(live.as_deref().and_then(|bytes| bytes.get(place.clone()))
            == wanted.and_then(|bytes| bytes.get(place)))
    }
}

/// The first option whose value in a running program is not that of the configuration.
pub(super) fn differing(generation: &Generation, config: &Config) -> Result<Option<&'static str>> {
    let wanted = Constants::of(config)?;
    for (name, option) in OPTIONS {
        if !wanted.equal(generation, name)? {
            return Ok(Some(option));
        }
    }
    Ok(None)
}

/// Constants, and the options that set them.
const OPTIONS: [(&str, &str); 8] = [
    ("route_icmp_errors", "--no-icmp-errors"),
    ("route_icmp_extensions", "--icmp-extensions"),
    ("route_icmp_prefix_cost", "--icmp-prefix-rate"),
    ("route_icmp_prefix_burst", "--icmp-prefix-rate"),
    ("route_icmp_total_cost", "--icmp-rate"),
    ("route_icmp_total_burst", "--icmp-rate"),
    ("route_reverse_path", "--reverse-path"),
    ("route_options", "--ip-options"),
];
