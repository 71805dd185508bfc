//! What a change of backends costs, and how much memory tables and flows take.
//!
//! Rule: as `xway balance load` does for a balancer in use, without reading files: the tables are
//! computed and the maps of a loaded program are updated. The memory is that of the maps' values.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use functions::balancer::{self, Config, FLOWS, Maps, TABLES};
use kernel::{LoadOptions, Object};
use spec::Spec;

use super::case::Case;
use crate::harness::{Arm, Value};

/// Milliseconds of a change, and sizes.
pub fn arms<'a>() -> Vec<Arm<'a>> {
    let mut loaded = None;
    let change = Arm::wide(CHANGE, move |window| {
        let loaded = match &mut loaded {
            Some(loaded) => loaded,
            empty => empty.insert(Loaded::new()?),
        };
        Ok(vec![Value::new(CHANGE, "ms", loaded.change(window)?)])
    });
    vec![change, Arm::new(TABLE, "KiB", |_| table()), Arm::new(MEMORY, "MiB", |_| memory())]
}

/// A program with a service of 1000 backends, of which one is there in every other configuration.
struct Loaded {
    object: Object,
    configs: [Config; 2],
    turn: usize,
}

impl Loaded {
    fn new() -> Result<Self> {
        let all = config(BACKENDS)?;
        let mut less = all.clone();
        less.services.iter_mut().for_each(|service| drop(service.backends.remove(CHANGED)));
        let mut spec = Spec::parse("balancer", balancer::OBJECT)?;
        all.apply(&mut spec)?;
        let object = Object::load(&spec, &LoadOptions::default())?;
        let loaded = Self { object, configs: [less, all], turn: 0 };
        loaded.update(&loaded.configs[1])?;
        Ok(loaded)
    }

    fn update(&self, config: &Config) -> Result<()> {
        let maps = Maps::find(|name| self.object.map(name))?;
        balancer::update(config, &maps)?;
        Ok(())
    }

    /// The fastest change in the window, in milliseconds.
    fn change(&mut self, window: Duration) -> Result<f64> {
        let (start, mut least) = (Instant::now(), Duration::MAX);
        while start.elapsed() < window || least == Duration::MAX {
            let begin = Instant::now();
            self.update(&self.configs[self.turn % 2])?;
            least = least.min(begin.elapsed());
            self.turn += 1;
        }
        Ok(1e3 * least.as_secs_f64())
    }
}

/// One service with this number of backends.
fn config(backends: u16) -> Result<Config> {
    let mut config = Case::V4.config_of(backends, false)?;
    config.services.truncate(1);
    Ok(config)
}

/// KiB that each table of a service takes.
fn table() -> Result<f64> {
    let of = |services: usize| {
        let mut config = config(BACKENDS)?;
        let service = config.services[0].clone();
        config.services = vec![service; services];
        size(&config, TABLES)
    };
    // A service has four: two in use, and two that a change writes.
    Ok((of(2)? - of(1)?) / 4.0 / 1024.0)
}

/// MiB that a million flows take.
fn memory() -> Result<f64> {
    let config = Config { flows: MILLION, ..config(BACKENDS)? };
    Ok(size(&config, FLOWS)? / f64::from(1 << 20))
}

/// Bytes of the values of a map.
fn size(config: &Config, map: &str) -> Result<f64> {
    let mut spec = Spec::parse("balancer", balancer::OBJECT)?;
    config.apply(&mut spec)?;
    let def = spec.maps.iter().find(|def| def.name == map).context("no such map")?;
    Ok(f64::from(def.max_entries) * f64::from(def.value_size))
}

/// Rows.
const CHANGE: &str = "change/one-of-1000";
const TABLE: &str = "memory/table";
const MEMORY: &str = "memory/million-flows";
const BACKENDS: u16 = 1000;
/// Place of the backend that changes.
const CHANGED: usize = 500;
const MILLION: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_flows_have_their_size() {
        assert!(table().unwrap() <= 132.0, "{} KiB", table().unwrap());
        assert!(memory().unwrap() <= 16.0, "{} MiB", memory().unwrap());
    }
}
