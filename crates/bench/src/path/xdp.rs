//! The forward program: translation and the kernel's routes, in the driver and in the stack.

use anyhow::Result;
use functions::route::{self, Config, Maps, Nat, Port};
use kernel::{Link, LoadOptions, Mode, Object};
use spec::Spec;

use super::forwarding::Forwarding;
use super::{ActivePath, Journey, Path};
use crate::field::{Line, PORT, Place};

/// `xway forward` in the driver.
pub const NATIVE: Path = Path {
    name: "xdp-native",
    about: "XDP in the driver: the forward program translates, asks the kernel's routes, redirects",
    journey: Journey::Translated,
    set: |line| set(line, Mode::Native),
};

/// `xway forward` in the stack's generic XDP hook.
pub const GENERIC: Path = Path {
    name: "xdp-generic",
    about: "the same in the stack, after a packet has a socket buffer",
    journey: Journey::Translated,
    set: |line| set(line, Mode::Generic),
};

struct Attached {
    _link: Link,
    _object: Object,
    _forwarding: Forwarding,
}

fn set(line: &Line, mode: Mode) -> Result<Box<dyn ActivePath>> {
    let rule = format!("{} udp {PORT} -> {}", line.near.ipv4()?, line.sink.ipv4()?);
    let translations = vec![rule.parse()?];
    let config = Config { nat: Nat::Required, translations, replies: false, ..Config::default() };
    let mut spec = Spec::parse("forward", route::OBJECT)?;
    config.apply(&mut spec)?;
    config.size_memory(&mut spec, sys::cpu::possible()?)?;
    let object = Object::load(&spec, &LoadOptions::default())?;
    let ports = [port(&line.near)?, port(&line.far)?];
    let maps = Maps::find(|name| object.map(name))?;
    // The kernel resolves the number in the namespace of the writing thread.
    line.far.run(|| route::update(&config, &ports, &maps))??;
    let forwarding = Forwarding::allow(line)?;
    let link = line.near.attach(object.program(route::PROGRAM)?, mode)?;
    Ok(Box::new(Attached { _link: link, _object: object, _forwarding: forwarding }))
}

/// The entry of an interface in the forward program's map.
pub fn port(place: &Place) -> Result<Port> {
    Ok(Port::untagged(place.ifindex()?.0, Some(place.mac()?.0)))
}

impl ActivePath for Attached {}
