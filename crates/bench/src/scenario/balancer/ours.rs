//! This project's program with the services of a case.

use anyhow::Result;
use functions::balancer::{self, Maps, TX};
use kernel::Object;
use spec::{Expect, Map as _, Spec};

use super::case::Case;
use super::site::Site;

/// Configures the object, loads it with `load`, and fills its maps.
pub fn load(site: &Site, case: Case, load: impl FnOnce(&Spec) -> Result<Object>) -> Result<Object> {
    let config = case.config(false)?;
    let mut spec = Spec::parse("balancer", balancer::OBJECT)?;
    config.apply(&mut spec)?;
    let object = load(&spec)?;
    let maps = Maps::find(|name| object.map(name))?;
    if case == Case::Moved {
        balancer::update(&case.config(true)?, &maps)?;
    }
    balancer::update(&config, &maps)?;
    let port = site.near.ifindex()?.0.to_ne_bytes();
    // The kernel resolves the number in the namespace of the writing thread.
    site.near.run(|| object.map(TX)?.update(&port, &port, Expect::Any))??;
    Ok(object)
}
