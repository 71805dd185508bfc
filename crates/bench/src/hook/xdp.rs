//! The drop program, in the driver and in the stack.

use anyhow::Result;
use functions::drop::{self, Config, Maps};
use functions::stats;
use kernel::{Link, LoadOptions, Mode, Object};
use spec::{Spec, Verdict};

use super::{ActiveHook, Hook};
use crate::field::{Field, PORT};

/// The drop program in the driver.
pub const NATIVE: Hook =
    Hook::new("xdp-native", "XDP in the driver, before a packet has a socket buffer", |field| {
        set(field, Mode::Native)
    });

/// The drop program in the stack's generic XDP hook.
pub const GENERIC: Hook = Hook::new("xdp-generic", "XDP in the stack, after it has one", |field| {
    set(field, Mode::Generic)
});

struct Attached {
    object: Object,
    _link: Link,
}

fn set(field: &Field, mode: Mode) -> Result<Box<dyn ActiveHook>> {
    let object = object(&[format!("any udp {PORT}")])?;
    let link = field.receiver.attach(object.program(drop::PROGRAM)?, mode)?;
    Ok(Box::new(Attached { object, _link: link }))
}

/// The drop program with these rules.
pub fn object(rules: &[String]) -> Result<Object> {
    let rules = rules.iter().map(|rule| Ok(rule.parse()?)).collect::<Result<_>>()?;
    let config = Config { rules, ..Config::default() };
    let mut spec = Spec::parse("drop", drop::OBJECT)?;
    config.apply(&mut spec)?;
    let object = Object::load(&spec, &LoadOptions::default())?;
    drop::update(&config, &Maps::find(|name| object.map(name))?)?;
    Ok(object)
}

impl ActiveHook for Attached {
    fn ended(&self) -> Result<u64> {
        let map = self.object.map(stats::MAP)?;
        let labels: Vec<String> =
            drop::Reason::ALL.iter().map(|reason| reason.label().to_owned()).collect();
        Ok(stats::Stats::read(map, &labels)?.verdict(Verdict::Drop).packets)
    }
}
