//! `xway prog`: programs in the kernel, also of other owners.

use kernel::{Attach, LoadOptions, Mode, Object, Program, Replace, attach};
use lab::{LinkOptions, TwoHosts};
use serde_json::Value;
use spec::Spec;
use xway_tests::xway::{Xway, prebuilt};

fn load(name: &str) -> Object {
    let bytes = std::fs::read(prebuilt(name)).unwrap();
    Object::load(&Spec::parse(name, &bytes).unwrap(), &LoadOptions::default()).unwrap()
}

fn show(xway: &Xway, program: &Program) -> Value {
    let answer = xway.run(&["--json", "prog", "show", &program.id().to_string()]).json(0);
    answer["program"].clone()
}

fn texts(listing: &Value) -> Vec<String> {
    let functions = listing["functions"].as_array().unwrap();
    let all = functions.iter().flat_map(|one| one["instructions"].as_array().unwrap());
    all.map(|one| one["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_loaded_program_is_listed_with_all_that_is_known() {
    let (xway, object) = (Xway::new(), load("drop.o"));
    let program = object.program("xway_drop").unwrap();
    let answer = xway.run(&["--json", "prog", "list"]).json(0);
    let programs = answer["programs"].as_array().unwrap();
    let mine = programs.iter().find(|one| one["id"] == program.id()).unwrap();
    let info = program.info().unwrap();
    assert_eq!(mine["type"], "xdp");
    assert_eq!(mine["name"], "xway_drop");
    assert_eq!(mine["tag"], kernel::tag_text(&info.tag));
    assert_eq!(mine["xlated_bytes"], info.xlated_len);
    assert_eq!(mine["verified_insns"], info.verified_insns);
    assert!(mine["memlock_bytes"].as_u64().unwrap() > 0);
    assert!(mine["loaded_at"].as_str().unwrap().ends_with('Z'));
    let maps: Vec<_> = mine["maps"].as_array().unwrap().iter().map(|map| &map["name"]).collect();
    assert!(maps.contains(&&Value::from("xway_stats")), "{maps:?}");
    let holder = &mine["holders"][0];
    assert_eq!(holder["pid"], std::process::id());
    assert_eq!(*mine, show(&xway, program), "list and show agree");
    let text = xway.run(&["prog", "list"]).ended(0);
    assert!(text.contains("xway_drop"), "{text}");
}

#[test]
fn attachments_are_named_inside_and_numbered_outside() {
    let (xway, object) = (Xway::new(), load("test/talk_drop.o"));
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let program = &object.programs()[0];
    let ifindex = net.a.ifindex("eth0").unwrap();
    let request = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    let link = net.a.run(|| attach(&request)).unwrap().unwrap();
    let id = program.id().to_string();
    let inside = xway.run_in(&net.a, &["--json", "prog", "show", &id]).json(0);
    let place = &inside["program"]["attached"][0];
    assert_eq!((&place["interface"], &place["mode"]), (&"eth0".into(), &"native".into()));
    assert!(place["link_id"].as_u64().is_some());
    let outside = show(&xway, program);
    assert_eq!(outside["attached"][0]["interface"], Value::Null);
    assert_eq!(outside["attached"][0]["ifindex"], ifindex.0);
    drop(link);
    assert_eq!(show(&xway, program)["attached"].as_array().unwrap().len(), 0);
}

#[test]
fn a_dump_has_names_and_source_lines() {
    let (xway, object) = (Xway::new(), load("test/talk_forward.o"));
    let id = object.programs()[0].id().to_string();
    let text = xway.run(&["prog", "dump", &id]).ended(0);
    assert!(text.contains("\nforward_udp:\n"), "{text}");
    assert!(text.contains("fib_lookup#"), "helpers have names: {text}");
    assert!(text.lines().any(|line| line.starts_with("; ") && line.contains("forward.bpf.c:")));
    let listing = xway.run(&["--json", "prog", "dump", &id]).json(0);
    assert_eq!(listing["form"], "translated");
    assert!(texts(&listing).iter().any(|text| text == "(95) exit"));

    let drop = load("drop.o");
    let stats = drop.map("drop_rules4").unwrap().id();
    let id = drop.program("xway_drop").unwrap().id().to_string();
    let text = xway.run(&["prog", "dump", &id]).ended(0);
    assert!(text.contains(&format!("map[id:{stats}]")), "{text}");
}

#[test]
fn functions_of_a_program_are_apart() {
    let (xway, object) = (Xway::new(), load("test/calls.o"));
    let id = object.program("calls_all").unwrap().id().to_string();
    for form in [&[][..], &["--jited"]] {
        let arguments = [&["--json", "prog", "dump", &id], form].concat();
        let listing = xway.run(&arguments).json(0);
        let functions = listing["functions"].as_array().unwrap();
        assert!(functions.len() > 1, "{listing}");
        assert_eq!(functions[0]["name"], "calls_all");
        let called = functions[1]["name"].as_str().unwrap();
        let call = texts(&listing).into_iter().find(|text| text.contains(called));
        assert!(call.is_some_and(|text| text.contains("call")), "{form:?}: {called}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn machine_code_is_disassembled() {
    let (xway, object) = (Xway::new(), load("test/talk_drop.o"));
    let id = object.programs()[0].id().to_string();
    let listing = xway.run(&["--json", "prog", "dump", &id, "--jited"]).json(0);
    assert_eq!(listing["form"], "jited");
    let function = &listing["functions"][0];
    assert!(function["address"].as_str().unwrap().starts_with("0xffff"), "{function}");
    let texts = texts(&listing);
    assert!(texts.iter().any(|text| text == "push %rbp"), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("(bad)")), "{texts:?}");
    let bytes = function["instructions"].as_array().unwrap().iter();
    let length: usize = bytes.map(|one| one["bytes"].as_str().unwrap().len() / 2).sum();
    assert_eq!(length as u32, object.programs()[0].info().unwrap().jited_len);
    let lines = function["instructions"].as_array().unwrap();
    assert!(lines.iter().any(|one| one["source"]["line"].as_u64().is_some()));
}

#[test]
fn names_are_taken_only_when_they_are_clear() {
    let (xway, one) = (Xway::new(), load("test/paper_count.o"));
    let name = "count_and_reflect";
    let id = one.programs()[0].id();
    let answer = xway.run(&["--json", "prog", "show", name]).json(0);
    assert_eq!(answer["program"]["id"], id, "the kernel's shorter name is found");
    let two = load("test/paper_count.o");
    let text = xway.run(&["prog", "show", name]).error();
    for program in [&one.programs()[0], &two.programs()[0]] {
        assert!(text.contains(&program.id().to_string()), "{text}");
    }
    let pinned = one.maps()[0].id().to_string();
    let folder = sys::mount::bpffs(&xway.state().join("bpf")).unwrap();
    let pin = folder.join("map");
    xway.run(&["map", "pin", &pinned, pin.to_str().unwrap()]).ended(0);
    let table: &[(&str, &str)] = &[
        ("4294967295", "no program has the id"),
        ("no_such_name", "no program is called `no_such_name`"),
        (pin.to_str().unwrap(), "is not a program"),
        ("/nowhere/pin", "ENOENT"),
    ];
    for (word, part) in table {
        for action in ["show", "dump"] {
            let text = xway.run(&["prog", action, word]).error();
            assert!(text.contains(part), "{word}: {text}");
        }
    }
}

#[test]
fn objects_are_disassembled_whole_and_with_their_lines() {
    let xway = Xway::new();
    for name in ["drop.o", "filter.o", "test/calls.o", "test/talk_drop.o"] {
        let path = prebuilt(name);
        let spec = Spec::parse(name, &std::fs::read(&path).unwrap()).unwrap();
        let answer = xway.run_powerless(&["--json", "disasm", path.to_str().unwrap()]).json(0);
        let programs = answer["programs"].as_array().unwrap();
        assert_eq!(programs.len(), spec.programs.len());
        for (listed, program) in programs.iter().zip(&spec.programs) {
            assert_eq!(listed["name"], program.name.as_str());
            let functions = listed["functions"].as_array().unwrap();
            let all = functions.iter().flat_map(|one| one["instructions"].as_array().unwrap());
            let bytes: String = all.map(|one| one["bytes"].as_str().unwrap()).collect();
            assert_eq!(bytes, packet::hex(&spec::Insn::bytes(&program.insns)), "{name}");
        }
    }
    let drop = prebuilt("drop.o");
    let text = xway.run(&["disasm", drop.to_str().unwrap(), "--program", "xway_drop"]).ended(0);
    assert!(text.contains("program xway_drop (xdp)"), "{text}");
    assert!(text.contains("@ drop.bpf.c:") && text.contains("map[xway_stats]"), "{text}");
    let text = xway.run(&["disasm", drop.to_str().unwrap(), "--program", "none"]).error();
    assert!(text.contains("none"), "{text}");
}
