//! `xway map`: maps in the kernel, read and changed from the command line.

use kernel::{LoadOptions, Map, MapCreate, Object};
use serde_json::{Value, json};
use spec::{MapKind, Spec};
use xway_tests::xway::{Answer, Xway, prebuilt};

/// `bpf/test/maps.bpf.c`: one map of each kind.
fn load() -> Object {
    let bytes = std::fs::read(prebuilt("test/maps.o")).unwrap();
    Object::load(&Spec::parse("maps.o", &bytes).unwrap(), &LoadOptions::default()).unwrap()
}

/// Without types.
fn plain(kind: MapKind, [key_size, value_size, max_entries]: [u32; 3]) -> Map {
    let (kind, name) = (kind.0, "cli_plain");
    let create = MapCreate { name, kind, key_size, value_size, max_entries, ..Default::default() };
    Map::create(&create).unwrap()
}

/// `map ACTION ID …`
fn act(xway: &Xway, action: &str, map: &Map, rest: &[&str]) -> Answer {
    let id = map.id().to_string();
    xway.run(&[&["--json", "map", action, &id], rest].concat())
}

fn entries(xway: &Xway, map: &Map) -> Value {
    act(xway, "dump", map, &[]).json(0)["entries"].clone()
}

#[test]
fn typed_entries_are_set_read_and_deleted() {
    let (xway, object) = (Xway::new(), load());
    let flows = object.map("flows").unwrap();
    assert_eq!(entries(&xway, flows), json!([]));
    for (key, value) in [("10.0.0.1,10.0.0.2", "7"), ("10.0.0.3,10.0.0.4", "0x10")] {
        assert_eq!(act(&xway, "update", flows, &[key, value]).json(0)["done"], true);
    }
    let found = act(&xway, "lookup", flows, &["10.0.0.1,10.0.0.2"]).json(0);
    assert_eq!((&found["found"], &found["value"]), (&json!(true), &json!(7)));
    let host = |address: [u8; 4]| u32::from_le_bytes(address);
    let key = json!({"source": host([10, 0, 0, 1]), "destination": host([10, 0, 0, 2])});
    assert_eq!(found["key"], key);
    assert_eq!(entries(&xway, flows).as_array().unwrap().len(), 2);

    assert_eq!(act(&xway, "delete", flows, &["10.0.0.1,10.0.0.2"]).json(0)["done"], true);
    assert_eq!(act(&xway, "delete", flows, &["10.0.0.1,10.0.0.2"]).json(1)["done"], false);
    assert_eq!(act(&xway, "lookup", flows, &["10.0.0.1,10.0.0.2"]).json(1)["found"], false);
    assert_eq!(entries(&xway, flows)[0]["value"], 16);
}

#[test]
fn per_cpu_values_are_shown_and_added_up() {
    let (xway, object) = (Xway::new(), load());
    let counters = object.map("counters").unwrap();
    act(&xway, "update", counters, &["3", "5"]).json(0);
    let all = entries(&xway, counters);
    assert_eq!(all.as_array().unwrap().len(), 5);
    let cpus = sys::cpu::possible().unwrap();
    assert_eq!(all[3], json!({"key": 3, "cpus": vec![5; cpus], "sum": 5 * cpus}));
    assert_eq!(all[0]["sum"], 0);
}

#[test]
fn maps_without_types_are_bytes_that_can_be_typed_again() {
    let (xway, map) = (Xway::new(), plain(MapKind::HASH, [4, 6, 8]));
    act(&xway, "update", &map, &["hex:00 01 02 03", "02:00:00:00:00:01"]).json(0);
    let found = &entries(&xway, &map)[0];
    assert_eq!(*found, json!({"key": "hex:00010203", "value": "hex:020000000001"}));
    let key = found["key"].as_str().unwrap();
    act(&xway, "delete", &map, &[key]).json(0);
}

#[test]
fn expectations_are_kept() {
    let (xway, map) = (Xway::new(), plain(MapKind::HASH, [4, 4, 8]));
    assert_eq!(act(&xway, "update", &map, &["1", "1", "--exist"]).json(1)["done"], false);
    act(&xway, "update", &map, &["1", "1", "--noexist"]).json(0);
    assert_eq!(act(&xway, "update", &map, &["1", "2", "--noexist"]).json(1)["done"], false);
    act(&xway, "update", &map, &["1", "3", "--exist"]).json(0);
    assert_eq!(entries(&xway, &map)[0]["value"], "hex:03000000");
    let id = map.id().to_string();
    let text = xway.run(&["map", "update", &id, "1", "2", "--noexist"]).ended(1);
    assert!(text.contains("already") && text.contains("nothing was changed"), "{text}");
}

#[test]
fn what_a_map_does_not_take_is_explained() {
    let (xway, object) = (Xway::new(), load());
    let (full, array) = (plain(MapKind::HASH, [4, 4, 1]), plain(MapKind::ARRAY, [4, 4, 2]));
    act(&xway, "update", &full, &["1", "1"]).json(0);
    let frozen = plain(MapKind::ARRAY, [4, 4, 1]);
    frozen.freeze().unwrap();
    let programs = object.map("programs").unwrap();
    let events = object.map("events").unwrap();
    let table: &[(&str, &Map, &[&str], &str)] = &[
        ("update", &full, &["2", "1"], "is full: it takes 1 entries"),
        ("update", &full, &["hex:0102", "1"], "is 2 bytes, the map takes 4"),
        ("update", &full, &["1", "hex:010203"], "value `hex:010203` is 3 bytes, the map takes 4"),
        ("update", &full, &["1", "4294967296"], "does not fit 4 bytes"),
        ("lookup", &full, &["10.0.0.1,2"], "specify its width"),
        ("update", &array, &["2", "1"], "the last index is 1"),
        ("delete", &array, &["1"], "cannot be deleted"),
        ("update", &frozen, &["0", "1"], "is frozen"),
        ("update", programs, &["0", "no_such_program"], "no program is called"),
        ("update", programs, &["0", "1", "--exist"], "holds kernel objects"),
        ("dump", events, &[], "a ringbuf has no keys"),
    ];
    for (action, map, rest, part) in table {
        let text = act(&xway, action, map, rest).error();
        assert!(text.contains(part), "{action} {rest:?}: {text}");
    }
    assert_eq!(entries(&xway, &full).as_array().unwrap().len(), 1, "nothing was changed");
    let text = act(&xway, "update", &full, &["2", "1"]).error();
    assert!(text.contains("E2BIG"), "the kernel's word is kept: {text}");
}

#[test]
fn maps_of_objects_take_and_show_ids() {
    let (xway, object) = (Xway::new(), load());
    let programs = object.map("programs").unwrap();
    let id = object.program("use_all").unwrap().id();
    act(&xway, "update", programs, &["1", &id.to_string()]).json(0);
    assert_eq!(entries(&xway, programs)[1], json!({"key": 1, "value": {"program_id": id}}));
    let (tables, inner) = (object.map("tables").unwrap(), object.map("first").unwrap());
    act(&xway, "update", tables, &["1", &inner.id().to_string()]).json(0);
    let found = act(&xway, "lookup", tables, &["1"]).json(0);
    assert_eq!(found["value"], json!({"map_id": inner.id()}));
}

#[test]
fn the_list_has_the_type_and_the_users_of_each_map() {
    let (xway, object) = (Xway::new(), load());
    let flows = object.map("flows").unwrap();
    let answer = xway.run(&["--json", "map", "list"]).json(0);
    let all = answer["maps"].as_array().unwrap();
    let mine = all.iter().find(|map| map["id"] == flows.id()).unwrap();
    assert_eq!((&mine["type"], &mine["name"]), (&json!("lru_hash"), &json!("flows")));
    let sizes = (&mine["key_bytes"], &mine["value_bytes"], &mine["max_entries"]);
    assert_eq!(sizes, (&json!(8), &json!(8), &json!(4096)));
    assert_eq!(mine["programs"][0]["name"], "use_all");
    assert_eq!(mine["holders"][0]["pid"], std::process::id());
    let shown = act(&xway, "show", flows, &[]).json(0);
    assert_eq!(shown["map"], *mine);
    assert_eq!(shown["key_type"], "struct flow");
    assert_eq!(shown["value_type"], "__u64");
    assert!(xway.run(&["map", "list"]).ended(0).contains("lru_hash"));
}

#[test]
fn a_pin_is_a_name_that_lasts() {
    let (xway, map) = (Xway::new(), plain(MapKind::ARRAY, [4, 4, 1]));
    let folder = sys::mount::bpffs(&xway.state().join("bpf")).unwrap();
    let pin = folder.join("kept");
    let pin = pin.to_str().unwrap();
    assert_eq!(act(&xway, "pin", &map, &[pin]).json(0)["path"], pin);
    let id = map.id();
    drop(map);
    assert_eq!(xway.run(&["--json", "map", "show", pin]).json(0)["map"]["id"], id);
    xway.run(&["map", "update", pin, "0", "9"]).ended(0);
    assert!(xway.run(&["map", "lookup", pin, "0"]).ended(0).contains("0: hex:09000000"));

    let text = xway.run(&["map", "pin", pin, pin]).error();
    assert!(text.contains("EEXIST"), "{text}");
    let outside = xway.state().join("file");
    let text = xway.run(&["map", "pin", pin, outside.to_str().unwrap()]).error();
    assert!(text.contains("is in no bpffs"), "{text}");
    let text = xway.run(&["map", "pin", pin, "/nowhere/at/all"]).error();
    assert!(text.contains("there is no folder /nowhere/at"), "{text}");
    std::fs::remove_file(pin).unwrap();
}
