//! The scenario that the manual shows is one.
#![allow(clippy::unwrap_used, reason = "what cannot be read has failed the test")]

use vm::World;

const MANUAL: &str = include_str!("../../../docs/scenario.md");

#[test]
fn the_manuals_example_is_read_and_written_back() {
    let example = MANUAL.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let world = World::from_toml(example).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((world.interfaces.len(), world.routes.len(), world.sockets.len()), (2, 4, 2));
    assert_eq!(World::from_toml(&world.to_toml().unwrap()).unwrap(), world);
}

#[test]
fn the_manual_names_every_key() {
    let world =
        World::from_toml(MANUAL.split("```toml\n").nth(1).unwrap().split("```").next().unwrap());
    let json = toml::Value::try_from(world.unwrap()).unwrap();
    let mut keys = Vec::new();
    collect(&json, &mut keys);
    let tables = MANUAL.split("## Keys").nth(1).unwrap();
    for key in keys {
        assert!(tables.contains(&key), "the manual's tables say nothing of `{key}`");
    }
}

/// A scenario with one byte changed is read or refused, and what is read makes a machine or not.
#[test]
fn damaged_scenarios_are_read_or_refused() {
    let example = MANUAL.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let mut read = 0;
    for at in (0..example.len()).step_by(3) {
        for byte in [[b'0', b'-'], [b'9', b'/'], [b'"', b':']][at % 9 / 3] {
            let mut bytes = example.as_bytes().to_vec();
            bytes[at] = byte;
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let Ok(world) = World::from_toml(&text) else { continue };
            let options = vm::Options { world, ..vm::Options::default() };
            read += u32::from(vm::Machine::load(&spec::Spec::default(), &options).is_ok());
        }
    }
    assert!(read > 50, "{read} scenarios");
}

fn collect(value: &toml::Value, keys: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, inner) in table {
                keys.push(key.clone());
                collect(inner, keys);
            }
        }
        toml::Value::Array(list) => list.iter().for_each(|inner| collect(inner, keys)),
        _ => {}
    }
}
