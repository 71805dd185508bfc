//! `xway prog`, `map` and `status` against Debian's bpftool, field by field.
//!
//! Compared are objects that the test loaded, since others may come and go meanwhile.

use std::process::Command;

use kernel::{Mode, Object};
use serde_json::{Value, json};
use spec::Spec;
use xway_tests::program::load;
use xway_tests::stage::Stage;
use xway_tests::xway::prebuilt;

fn object(name: &str) -> Object {
    let bytes = std::fs::read(prebuilt(name)).unwrap();
    load(&Spec::parse(name, &bytes).unwrap())
}

fn answer(mut command: Command, words: &[&str]) -> Value {
    let output = command.args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What bpftool lists of the object with an id, with the paths of its pins.
fn theirs(kind: &str, id: u32) -> Value {
    let id = id.to_string();
    answer(Command::new("bpftool"), &["--json", "--bpffs", kind, "show", "id", &id])
}

fn sorted(list: &Value, field: Option<&str>) -> Vec<Value> {
    let items = list.as_array().into_iter().flatten();
    let mut all: Vec<_> =
        items.map(|item| field.map_or(item, |field| &item[field]).clone()).collect();
    all.sort_by_key(ToString::to_string);
    all
}

/// Fields with one value on both sides. bpftool leaves out what is 0 or unknown.
#[track_caller]
fn assert_same(ours: &Value, theirs: &Value, fields: &[(&str, &str)]) {
    let value = |value: &Value| match value {
        Value::Bool(truth) => json!(u64::from(*truth)),
        Value::Null => json!(0),
        other => other.clone(),
    };
    for (our, their) in fields {
        assert_eq!(value(&ours[our]), value(&theirs[their]), "{our}: {ours:#} {theirs:#}");
    }
}

#[track_caller]
fn assert_same_program(stage: &Stage, id: u32) {
    let ours = stage.json(&["prog", "show", &id.to_string()])["program"].clone();
    let theirs = theirs("prog", id);
    assert_same(
        &ours,
        &theirs,
        &[
            ("id", "id"),
            ("type", "type"),
            ("tag", "tag"),
            ("gpl_compatible", "gpl_compatible"),
            ("uid", "uid"),
            ("xlated_bytes", "bytes_xlated"),
            ("jited_bytes", "bytes_jited"),
            ("memlock_bytes", "bytes_memlock"),
            ("btf_id", "btf_id"),
        ],
    );
    // bpftool takes the function's name, which may be longer.
    let name = theirs["name"].as_str().unwrap();
    assert!(name.starts_with(ours["name"].as_str().unwrap()), "{ours:#} {theirs:#}");
    assert_eq!(sorted(&ours["maps"], Some("id")), sorted(&theirs["map_ids"], None));
    assert_eq!(sorted(&ours["pins"], None), sorted(&theirs["pinned"], None), "{ours:#}");
    let loaded = theirs["loaded_at"].as_u64().unwrap();
    let near = [loaded - 1, loaded, loaded + 1].map(report::date::utc);
    assert!(near.contains(&ours["loaded_at"].as_str().unwrap().to_owned()), "{ours:#} {loaded}");
    let runs = &ours["runs"];
    assert_same(runs, &theirs, &[("count", "run_cnt"), ("time_ns", "run_time_ns")]);
    assert_same_holders(&ours, &theirs);
}

/// bpftool reports processes if it was built so: those that hold the object itself, without the one
/// that asks.
#[track_caller]
fn assert_same_holders(ours: &Value, theirs: &Value) {
    let our_pids = sorted(&ours["holders"], Some("pid"));
    for pid in sorted(&theirs["pids"], Some("pid")) {
        assert!(our_pids.contains(&pid), "{ours:#} {theirs:#}");
    }
}

#[track_caller]
fn assert_same_map(stage: &Stage, id: u32) {
    let ours = stage.json(&["map", "show", &id.to_string()])["map"].clone();
    let theirs = theirs("map", id);
    assert_same(
        &ours,
        &theirs,
        &[
            ("id", "id"),
            ("type", "type"),
            ("name", "name"),
            ("flags", "flags"),
            ("key_bytes", "bytes_key"),
            ("value_bytes", "bytes_value"),
            ("max_entries", "max_entries"),
            ("memlock_bytes", "bytes_memlock"),
            ("btf_id", "btf_id"),
            ("frozen", "frozen"),
            ("owner_type", "owner_prog_type"),
            ("owner_jited", "owner_jited"),
        ],
    );
    assert_eq!(sorted(&ours["pins"], None), sorted(&theirs["pinned"], None), "{ours:#}");
    assert_same_holders(&ours, &theirs);
}

#[test]
fn programs_maps_and_interfaces_are_as_bpftool_shows_them() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    let [(_, attached)] = stage.attached()[..] else { panic!("one program") };
    // One without pins, and one whose maps include an array of programs.
    let objects = [object("route.o"), object("test/maps.o")];
    let held = objects.iter().flat_map(|object| object.programs());
    let programs: Vec<u32> = held.map(|program| program.id()).chain([attached]).collect();
    assert!(programs.len() >= 3, "{programs:?}");
    for id in &programs {
        assert_same_program(&stage, *id);
    }
    let maps = programs.iter().flat_map(|id| {
        let program = stage.json(&["prog", "show", &id.to_string()]);
        sorted(&program["program"]["maps"], Some("id"))
    });
    let mut maps: Vec<u64> = maps.map(|id| id.as_u64().unwrap()).collect();
    maps.sort_unstable();
    maps.dedup();
    assert!(maps.len() > 5, "{maps:?}");
    for id in maps {
        assert_same_map(&stage, u32::try_from(id).unwrap());
    }
    let pins = stage.json(&["prog", "show", &attached.to_string()])["program"]["pins"].clone();
    assert!(!pins.as_array().unwrap().is_empty(), "an attached program is pinned");
}

#[test]
fn interfaces_have_the_programs_and_modes_of_bpftool() {
    let stage = Stage::new();
    for (mode, word) in [(Mode::Native, "driver"), (Mode::Generic, "generic")] {
        stage.run(&["attach", "eth0", "drop", "--replace", "--mode", mode.name()]).ended(0);
        let net = answer(stage.net.b.command("bpftool").unwrap(), &["--json", "net", "show"]);
        let status = stage.status();
        let program = &status["programs"][0];
        let listed = net[0]["xdp"].as_array().unwrap();
        assert_eq!(listed.len(), 1, "{net}");
        let one = &listed[0];
        assert_eq!((&one["devname"], &one["ifindex"]), (&status["name"], &status["ifindex"]));
        assert_eq!((&one["id"], &one["mode"]), (&program["id"], &json!(word)), "{net}");
        // The link and its pin, which bpftool lists apart.
        let id = program["id"].to_string();
        let place = stage.json(&["prog", "show", &id])["program"]["attached"][0].clone();
        let link = u32::try_from(place["link_id"].as_u64().unwrap()).unwrap();
        let listed = theirs("link", link);
        assert_eq!((&listed["prog_id"], &listed["id"]), (&program["id"], &place["link_id"]));
        assert_eq!(sorted(&place["link_pins"], None), sorted(&listed["pinned"], None), "{place}");
    }
}
