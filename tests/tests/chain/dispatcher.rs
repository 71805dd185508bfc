//! libxdp's dispatcher: `xway` shows it and leaves it alone. This kernel may refuse programs that
//! replace functions, so a program with the name and the configuration of a dispatcher stands for
//! it here; `dist/test-libxdp` runs the real one.

use std::fs;

use kernel::{Attach, Link, Mode, Object, Replace};
use serde_json::{Value, json};
use spec::asm::{Assembler, Reg::*};
use spec::{MapDef, MapKind, ProgramKind, Verdict};
use sys::bpf::uapi::map_flag;
use xway_tests::program::{PinFolder, constant, foreign, load, map, object};
use xway_tests::stage::Stage;
use xway_tests::xway::prebuilt;

/// A program with this name and this configuration, of no `xway`.
fn stand_in(name: &str, config: &[u8]) -> Object {
    let rodata = MapDef {
        flags: map_flag::RDONLY_PROG,
        contents: Some(config.to_vec()),
        frozen: true,
        ..map(".rodata", MapKind::ARRAY, [4, config.len() as u32, 1])
    };
    let mut a = Assembler::new(name, ProgramKind::XDP);
    a.store32(R10.at(-4), 0).lookup(".rodata", R10.at(-4)).verdict(Verdict::Pass);
    load(&object(vec![rodata], vec![a]))
}

/// The configuration of two programs, as version 2 of libxdp stores it.
fn config(version: u8) -> Vec<u8> {
    let mut bytes = vec![236, version, 2, 0];
    let mut column = |cells: [u32; 2]| {
        let cells = cells.into_iter().chain([0; 8]);
        bytes.extend(cells.flat_map(u32::to_ne_bytes));
    };
    column([1 << 31 | 1 << 2, 1 << 31 | 1 << 2 | 1 << 3]);
    column([10, 50]);
    column([0, 0]);
    bytes
}

/// Attaches a program of an object as another tool does.
fn attach(stage: &Stage, object: &Object, replace: Replace) -> kernel::Result<Link> {
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let program = &object.programs()[0];
    let attach = Attach { ifindex, program, mode: Mode::Native, replace };
    stage.net.b.run(|| kernel::attach(&attach)).unwrap()
}

fn file(name: &str) -> String {
    prebuilt(&format!("test/{name}.o")).to_str().unwrap().to_owned()
}

#[test]
fn a_dispatcher_is_shown_as_that_of_another_owner() {
    let stage = Stage::new();
    let dispatcher = stand_in("xdp_dispatcher", &config(2));
    let _link = attach(&stage, &dispatcher, Replace::No).unwrap();
    let chain = stage.json(&["chain", "eth0", "show"]);
    assert_eq!(chain["form"], "libxdp", "{chain:#}");
    assert_eq!(chain["dispatcher_version"], 2);
    let member = |name: &str, priority: u32, continue_on: Value| {
        json!({
            "name": name, "program": name, "priority": priority, "continue_on": continue_on,
            "packets": null, "bytes": null, "verdicts": {}, "ns": null,
            "id": null, "tag": null, "pins": [],
        })
    };
    let members =
        [member("prog0", 10, json!(["pass"])), member("prog1", 50, json!(["pass", "tx"]))];
    assert_eq!(chain["members"], json!(members), "{chain:#}");
    let text = stage.run(&["chain", "eth0", "show"]).stdout;
    assert!(text.contains("belongs to libxdp") && text.contains("none attached"), "{text}");
    let program = &stage.status()["programs"][0];
    assert_eq!((&program["owner"], &program["name"]), (&json!("libxdp"), &json!("xdp_dispatcher")));
    assert_eq!(program["members"], json!(["prog0", "prog1"]));
}

#[test]
fn a_dispatcher_is_not_replaced_by_any_command() {
    let stage = Stage::new();
    let rules = stage.xway.state().join("rules.toml");
    fs::create_dir_all(stage.xway.state()).unwrap();
    fs::write(&rules, "rules = [\"drop udp dport 7\"]").unwrap();
    let captured = stage.xway.state().join("x.pcapng");
    let [rules, captured] = [&rules, &captured].map(|path| path.to_str().unwrap());
    let seen = file("seen");
    // A newer version, whose members are unknown, is protected as well.
    for version in [2, 9] {
        let dispatcher = stand_in("xdp_dispatcher", &config(version));
        let link = attach(&stage, &dispatcher, Replace::No).unwrap();
        let before = stage.attached();
        for words in [
            &["attach", "eth0", &seen][..],
            &["attach", "eth0", &seen, "--replace"],
            &["attach", "eth0", &seen, "--replace", "--confirm", "60s"],
            &["drop", "eth0", "any udp 7", "--replace"],
            &["forward", "eth0", "--replace"],
            &["filter", "load", "eth0", rules, "--replace"],
            &["chain", "eth0", "add", &seen],
            &["chain", "eth0", "remove", "prog0"],
            &["chain", "eth0", "move", "prog0", "--priority", "9"],
            &["capture", "eth0", "-w", captured, "--time", "1s"],
            &["detach", "eth0"],
            &["detach", "eth0", "--force"],
        ] {
            let text = stage.run(words).error();
            for part in ["runs libxdp's dispatcher", "chain eth0 adopt", "xdp-loader unload eth0"] {
                assert!(text.contains(part), "{words:?}: {text}");
            }
            assert_eq!((stage.attached(), stage.kept()), (before.clone(), 0), "{words:?}");
        }
        drop(link);
    }
}

#[test]
fn what_cannot_be_adopted_is_left_alone() {
    let stage = Stage::new();
    let seen = file("seen");
    let adopt = ["chain", "eth0", "adopt", &seen];
    assert!(stage.run(&adopt).error().contains("runs no dispatcher"));
    for (object, part) in [
        (stand_in("xdp_dispatcher", &config(2)), "has no members"),
        (stand_in("xdp_dispatcher", &config(9)), "version 9"),
        (stand_in("xdp_dispatcher", &[0; 200]), "runs no dispatcher"),
        (stand_in("another", &config(2)), "runs no dispatcher"),
        (foreign(), "runs no dispatcher"),
    ] {
        let link = attach(&stage, &object, Replace::No).unwrap();
        let before = stage.attached();
        let text = stage.run(&adopt).error();
        assert!(text.contains(part), "{text}");
        assert_eq!(stage.attached(), before);
        drop(link);
    }
    // A chain of xway is not a dispatcher, whatever its program is called.
    stage.json(&["attach", "eth0", &seen]);
    assert!(stage.run(&adopt).error().contains("runs no dispatcher"));
    // What has the name and not the configuration is replaced by force, as ever.
    stage.json(&["detach", "eth0"]);
    let other = stand_in("xdp_dispatcher", &[7; 12]);
    let link = attach(&stage, &other, Replace::No).unwrap();
    stage.json(&["detach", "eth0", "--force"]);
    assert_eq!(stage.attached(), []);
    drop(link);
}

/// A process that is killed after the chain has replaced the dispatcher leaves libxdp's pins, and
/// the record of the dispatcher with the chain. The next command removes the pins.
#[test]
fn pins_of_a_replaced_dispatcher_are_removed_by_the_next_change() {
    let stage = Stage::new();
    stage.json(&["attach", "eth0", &file("seen")]);
    let ifindex = stage.net.b.ifindex("eth0").unwrap().0;
    let mounted = PinFolder::new("replaced");
    let (dispatcher, other) = (4_000_000_001_u32, 4_000_000_002_u32);
    let folders =
        [dispatcher, other].map(|id| mounted.path(&format!("xdp/dispatch-{ifindex}-{id}")));
    let member = stand_in("member", &[0; 4]);
    for folder in &folders {
        fs::create_dir_all(folder).unwrap();
        member.programs()[0].pin(&folder.join("prog0-prog")).unwrap();
    }
    let record = stage.pins().into_iter().find(|pin| pin.ends_with("xway_record")).unwrap();
    let record = stage.xway.state().join("bpf").join(record).with_file_name("xway_dispatcher");
    let text = dispatcher.to_string();
    let shape = [4, text.len() as u32, 1];
    let def = MapDef { contents: Some(text.into_bytes()), ..map("xway_id", MapKind::ARRAY, shape) };
    let maps = object(vec![def], vec![constant("holder", Verdict::Pass)]);
    load(&maps).map("xway_id").unwrap().pin(&record).unwrap();
    // Reading changes nothing.
    stage.json(&["chain", "eth0", "show"]);
    assert!(folders[0].exists());
    let add = ["chain", "eth0", "add", &file("seen"), "--name", "again"];
    stage.json(&add);
    assert!(!folders[0].exists(), "{:?}", fs::read_dir(&folders[0]));
    assert!(folders[1].join("prog0-prog").exists(), "that of another dispatcher");
    assert!(!record.exists() && !stage.pins().iter().any(|pin| pin.ends_with("xway_dispatcher")));
    stage.json(&["detach", "eth0"]);
}

#[test]
fn only_the_expected_program_is_replaced() {
    let stage = Stage::new();
    let [first, second] =
        ["first", "second"].map(|name| load(&object(vec![], vec![constant(name, Verdict::Pass)])));
    let id = |object: &Object| object.programs()[0].id();
    let text = attach(&stage, &second, Replace::Only(id(&first))).unwrap_err().to_string();
    assert!(text.contains("nothing was changed"), "{text}");
    assert_eq!(stage.attached(), []);
    let _link = attach(&stage, &first, Replace::No).unwrap();
    let text = attach(&stage, &second, Replace::Only(id(&second))).unwrap_err().to_string();
    assert!(text.contains("nothing was changed"), "{text}");
    assert_eq!(stage.attached(), [("native", id(&first))]);
    let _new = attach(&stage, &second, Replace::Only(id(&first))).unwrap();
    assert_eq!(stage.attached(), [("native", id(&second))]);
}
