//! Any text as a scenario: an error that says where, or a world that is written and read back the
//! same, and that a machine can be put in.
//!
//! `cargo +nightly fuzz run vm_scenario`
#![no_main]

use libfuzzer_sys::fuzz_target;
use spec::Spec;
use vm::{Machine, Options, World};

fuzz_target!(|text: &str| {
    let Ok(world) = World::from_toml(text) else { return };
    if let Ok(copy) = world.to_toml() {
        assert_eq!(World::from_toml(&copy).as_ref(), Ok(&world), "{copy}");
    }
    let options = Options { world, ..Options::default() };
    let _ = Machine::load(&Spec::default(), &options).map(|machine| machine.worker(0));
});
