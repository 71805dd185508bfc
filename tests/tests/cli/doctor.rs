//! `xway doctor`: reports all it can, for every user.

use lab::LinkOptions;
use serde_json::Value;
use xway_tests::stage::Stage;
use xway_tests::xway::Xway;

fn names<'a>(report: &'a Value, list: &str) -> Vec<&'a str> {
    report[list].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn root_may_attach() {
    let report = Xway::new().run(&["--json", "doctor"]).json(0);
    assert_eq!(report["ready"], true);
    assert_eq!(report["gates"].as_array().unwrap().len(), 0);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(report["kernel"], release.trim());
    let facts = names(&report, "facts");
    assert!(["BTF", "JIT", "memory lock limit", "bpffs"].iter().all(|f| facts.contains(f)));
    assert!(names(&report, "probes").contains(&"xdp-native"));
    for probe in report["probes"].as_array().unwrap() {
        let refused = probe["refusal"].as_str().is_some_and(|words| !words.is_empty());
        assert_eq!(probe["available"], !refused, "{probe}");
    }
}

#[test]
fn without_capabilities_the_gate_is_named() {
    let xway = Xway::new();
    let report = xway.run_powerless(&["--json", "doctor"]).json(1);
    assert_eq!(report["ready"], false);
    let gates = report["gates"].to_string();
    assert!(gates.contains("CAP_BPF") && gates.contains("CAP_NET_ADMIN"), "{gates}");
    assert_eq!(report["capabilities"]["effective"].as_array().unwrap().len(), 0);
    let refused = &report["probes"][0];
    assert_eq!(refused["name"], "xdp");
    assert!(refused["refusal"].as_str().unwrap().contains("EPERM"), "{refused}");
    assert_eq!(refused["permitted"], false, "{refused}");
    assert!(report["missing_capabilities"].to_string().contains("CAP_BPF"), "{report}");
    let text = xway.run_powerless(&["doctor"]).ended(1);
    assert!(text.contains("XDP programs cannot be attached"), "{text}");
}

#[test]
fn other_commands_name_the_gate_too() {
    let xway = Xway::new();
    let table: &[(&[&str], &str)] = &[
        (&["prog", "list"], "CAP_SYS_ADMIN"),
        (&["map", "show", "1"], "CAP_SYS_ADMIN"),
        (&["check", "drop"], "CAP_BPF"),
        (&["lab", "up", "two-hosts"], "CAP_SYS_ADMIN and CAP_NET_ADMIN"),
    ];
    for (arguments, gate) in table {
        let text = xway.run_powerless(arguments).error();
        assert!(text.contains(gate) && text.contains("run it as root"), "{arguments:?}: {text}");
        assert_eq!(text.matches("EPERM").count(), 1, "{arguments:?}: {text}");
    }
}

#[test]
fn interfaces_are_examined_with_what_to_change() {
    let stage = Stage::with(&LinkOptions { gro: false, ..LinkOptions::default() });
    let report = stage.json(&["doctor", "eth0"]);
    let eth0 = &report["interfaces"]["eth0"];
    assert_eq!((&eth0["driver"], &eth0["up"]), (&"veth".into(), &true.into()), "{eth0}");
    assert_eq!(eth0["native"], true);
    assert!(eth0["queues"]["rx"].as_u64() >= Some(1) && eth0["peer"].is_object(), "{eth0}");
    assert!(report["interfaces"]["lo"].is_null(), "it was not named");
    stage.run(&["drop", "eth0", "any udp 9"]).ended(0);
    let report = stage.json(&["doctor"]);
    assert_eq!(report["interfaces"]["eth0"]["programs"][0], stage.attached()[0].1);
    stage.net.b.netlink().unwrap().link("eth0").unwrap();
    let error = stage.run(&["doctor", "eth7"]).error();
    assert!(error.contains("no interface `eth7`"), "{error}");
    let run = |words: &[&str]| stage.net.b.command("ip").unwrap().args(words).status().unwrap();
    assert!(run(&["link", "set", "eth0", "down"]).success());
    let text = stage.run(&["doctor", "eth0"]).ended(0);
    assert!(text.contains("What to do:") && text.contains("ip link set eth0 up"), "{text}");
}
