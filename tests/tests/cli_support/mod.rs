//! What the command line meets that is not its own.

use kernel::{LoadOptions, Object};
use spec::Spec;
use xway_tests::xway::prebuilt;

/// A program of somebody who uses no `xway`, called `drop_udp`.
pub fn foreign() -> Object {
    let name = "test/talk_drop.o";
    let spec = Spec::parse(name, &std::fs::read(prebuilt(name)).unwrap()).unwrap();
    Object::load(&spec, &LoadOptions::default()).unwrap()
}
