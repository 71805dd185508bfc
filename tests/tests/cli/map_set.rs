//! `xway map set`: entries of maps set by the types of their keys, fields and values.

use kernel::{Map, MapCreate, Object};
use serde_json::{Value, json};
use spec::MapKind;
use xway_tests::clang;
use xway_tests::program::load;
use xway_tests::xway::{Answer, Xway};

const SOURCE: &str = r#"
enum state { IDLE, BUSY = 7 };
struct flow { __be32 address; __be16 port; __u16 pad; };
struct entry {
	__u64 packets; __be32 next_hop; enum state state; __s16 weight; _Bool open;
	char name[8]; __u8 mac[6]; unsigned int low : 3, high : 5;
	struct { __u32 x, y; } points[2];
};
struct { int (*type)[BPF_MAP_TYPE_HASH]; struct flow *key; struct entry *value;
	 int (*max_entries)[4]; } flows SEC(".maps");
struct { int (*type)[BPF_MAP_TYPE_PERCPU_ARRAY]; __u32 *key; struct entry *value;
	 int (*max_entries)[2]; } counts SEC(".maps");
__u32 limit = 5; __u64 total;
static void *(*const lookup)(void *, const void *) = (void *)BPF_FUNC_map_lookup_elem;

SEC("xdp") int user(struct xdp_md *ctx)
{
	struct flow flow = {};
	__u32 zero = 0;
	struct entry *one = lookup(&flows, &flow), *other = lookup(&counts, &zero);

	total += limit;
	return one && other ? XDP_DROP : XDP_PASS;
}
"#;

/// A loaded object whose maps are set.
struct Loaded {
    xway: Xway,
    object: Object,
}

impl Loaded {
    fn new() -> Self {
        Self { xway: Xway::new(), object: load(&clang::read("map_set", SOURCE)) }
    }

    fn map(&self, name: &str) -> &Map {
        self.object.map(name).unwrap()
    }

    fn set(&self, name: &str, words: &[&str]) -> Answer {
        set(&self.xway, self.map(name), words)
    }

    fn value(&self, name: &str, number: usize) -> Value {
        let id = self.map(name).id().to_string();
        self.xway.run(&["--json", "map", "dump", &id]).json(0)["entries"][number].clone()
    }
}

fn set(xway: &Xway, map: &Map, words: &[&str]) -> Answer {
    let id = map.id().to_string();
    xway.run(&[&["--json", "map", "set", &id], words].concat())
}

const KEY: &str = "{address: 10.0.0.1, port: 53}";

#[test]
fn fields_of_every_type_are_set_and_the_others_kept() {
    let loaded = Loaded::new();
    let report = loaded.set("flows", &[&format!("{KEY}.packets=9")]).json(0);
    assert_eq!(report["entries"][0]["done"], true, "{report}");
    assert_eq!(report["entries"][0]["value"]["packets"], 9);
    for (path, text) in [
        (".next_hop", "10.0.0.254"),
        (".state", "BUSY"),
        (".weight", "-3"),
        (".open", "true"),
        (".name", "uplink"),
        (".mac", "02:00:00:00:00:07"),
        (".high", "31"),
        (".points[1].y", "0x10"),
        (".points[0]", "{x: 1, y: 2}"),
    ] {
        loaded.set("flows", &[&format!("{KEY}{path}={text}")]).json(0);
    }
    let entry = loaded.value("flows", 0);
    let expected = json!({
        "packets": 9, "next_hop": u32::from_ne_bytes([10, 0, 0, 254]), "state": "BUSY",
        "weight": -3, "open": true, "name": "uplink", "mac": [2, 0, 0, 0, 0, 7],
        "low": 0, "high": 31, "points": [{"x": 1, "y": 2}, {"x": 0, "y": 16}],
    });
    assert_eq!(entry["value"], expected, "{entry}");
    assert_eq!(entry["key"]["port"], u16::from_ne_bytes([0, 53]));
    // Two fields in one update, and another entry beside it.
    let both = [KEY.to_owned() + ".packets=10", KEY.to_owned() + ".low=5", "hex:".to_owned()];
    let other = format!("{}0102030400070000={{packets: 1}}", both[2]);
    let report = loaded.set("flows", &[&both[0], &both[1], &other]).json(0);
    assert_eq!(report["entries"].as_array().unwrap().len(), 2, "{report}");
    let text = loaded.xway.run(&["map", "set", &loaded.map("flows").id().to_string(), &both[0]]);
    assert!(text.ended(0).contains("packets: 10"));
}

#[test]
fn per_cpu_values_are_set_on_all_processors_or_on_one() {
    let loaded = Loaded::new();
    let cpus = sys::cpu::possible().unwrap();
    loaded.set("counts", &["1.packets=4"]).json(0);
    assert_eq!(loaded.value("counts", 1)["cpus"][cpus - 1]["packets"], 4);
    loaded.set("counts", &["1.packets=7", "--cpu", "0"]).json(0);
    let values = loaded.value("counts", 1);
    assert_eq!(values["cpus"][0]["packets"], 7);
    assert_eq!(values["cpus"][cpus - 1]["packets"], if cpus == 1 { 7 } else { 4 });
    let text = loaded.set("counts", &["1.packets=1", "--cpu", "9999"]).error();
    assert!(text.contains("no processor 9999"), "{text}");
    let text = loaded.set("flows", &[&format!("{KEY}.packets=1"), "--cpu", "0"]).error();
    assert!(text.contains("leave out --cpu"), "{text}");
}

#[test]
fn globals_are_fields_of_their_section() {
    let loaded = Loaded::new();
    loaded.set(".data", &["0.limit=77"]).json(0);
    loaded.set(".bss", &["0.total=0x100000000"]).json(0);
    let total = loaded.value(".bss", 0);
    assert_eq!(total["value"]["total"], 1_u64 << 32, "{total}");
    assert_eq!(loaded.value(".data", 0)["value"]["limit"], 77);
}

#[test]
fn what_cannot_be_set_is_explained_and_changes_nothing() {
    let loaded = Loaded::new();
    let plain = |kind, [key_size, value_size]: [u32; 2]| {
        let create = MapCreate { kind, key_size, value_size, max_entries: 1, ..Default::default() };
        Map::create(&create).unwrap()
    };
    let bare = plain(MapKind::HASH.0, [4, 8]);
    let frozen = plain(MapKind::ARRAY.0, [4, 4]);
    frozen.freeze().unwrap();
    let flows = loaded.map("flows");
    let key = |rest: &str| format!("{KEY}{rest}");
    let table: &[(&Map, String, &str)] = &[
        (flows, key(".paket=1"), "did you mean `packets`?"),
        (flows, key(".weight=40000"), "outside the range -32768 to 32767"),
        (flows, key(".low=8"), "outside the range 0 to 7"),
        (flows, key(".state=LAZY"), "expected IDLE, BUSY"),
        (flows, key(".points[2].x=1"), "the last index is 1"),
        (flows, key(".packets.x=1"), "has no fields"),
        (flows, key(".name=muchtoolong"), "too many"),
        (flows, "{adress: 1}.packets=1".to_owned(), "did you mean `address`?"),
        (flows, "{port: 65536}.packets=1".to_owned(), "outside the range 0 to 65535"),
        (&bare, "1.field=1".to_owned(), "set the whole value"),
        (&bare, "1=hex:00".to_owned(), "is 1 bytes, the map takes 8"),
        (&frozen, "0=1".to_owned(), "is frozen"),
        (&bare, "no-assignment".to_owned(), "KEY[.FIELD]=VALUE"),
    ];
    for (map, word, part) in table {
        let text = set(&loaded.xway, map, &[word]).error();
        assert!(text.contains(part), "{word}: {text}");
    }
    // One of two is wrong: neither is written.
    loaded.set("flows", &[&key(".packets=1"), &key(".paket=1")]).error();
    assert_eq!(loaded.value("flows", 0), Value::Null);
    set(&loaded.xway, &bare, &["1=5"]).json(0);
}

#[test]
fn expectations_are_kept() {
    let loaded = Loaded::new();
    let word = format!("{KEY}.packets=1");
    let report = loaded.set("flows", &[&word, "--exist"]).json(1);
    assert_eq!(report["entries"][0]["done"], false, "{report}");
    loaded.set("flows", &[&word, "--noexist"]).json(0);
    loaded.set("flows", &[&word, "--noexist"]).json(1);
    loaded.set("flows", &[&word, "--exist"]).json(0);
}
