//! `xway filter`: rules are loaded, changed one by one, and shown with their counts.

use lab::Capture;
use lab::until;
use serde_json::json;
use xway_tests::filter::{counted, expected, file, load, rules, show};
use xway_tests::stage::{PATIENCE, Stage};

/// Sends one frame to each port.
fn to(stage: &Stage, ports: &[u16]) {
    for port in ports {
        stage.send(&stage.flow(*port).udp(b"x").unwrap(), 1);
    }
}

#[test]
fn rules_decide_and_count() {
    let stage = Stage::new();
    let text = "default = 'pass'\n\
                rules = ['seven: drop udp dport 7', 'all: count udp', 'low: drop udp dport 1-9']\n";
    let mut said = stage.json(&["filter", "load", "eth0", &file(&stage, "f.toml", text)]);
    let took = said.as_object_mut().unwrap().remove("took").unwrap();
    for part in ["read_s", "compile_s", "load_s", "carry_s", "swap_s"] {
        assert!(took[part].as_f64().unwrap() >= 0.0, "{part}: {took}");
    }
    let memory = said.as_object_mut().unwrap().remove("memory").unwrap();
    assert!(memory["bytes"].as_u64().unwrap() > 0, "{memory}");
    let wanted = json!({
        "interface": "eth0", "mode": "native", "updated": false, "default": "pass",
        "rules": ["seven", "all", "low"],
    });
    assert_eq!(said, wanted);
    let wire = Capture::open(&stage.net.b, "eth0").unwrap();
    to(&stage, &[7, 8, 7, 100]);
    let passed = stage.flow(100).udp(b"x").unwrap();
    wire.next(PATIENCE, |seen| seen == passed).unwrap();
    let shown = counted(&stage, 4);
    assert_eq!(rules(&shown), expected(&[("seven", 2), ("all", 2), ("low", 1)]));
    let bytes = 2 * stage.flow(7).udp(b"x").unwrap().len();
    assert_eq!(shown["rules"][0]["bytes"], bytes);
    assert_eq!(shown["rules"][0]["text"], "drop udp dport 7");
    assert_eq!(
        (&shown["default"]["verdict"], &shown["default"]["packets"]),
        (&json!("pass"), &json!(1))
    );
    let text = stage.run(&["filter", "show", "eth0", "--interval", "1ms"]).ended(0);
    for part in ["seven", "drop udp dport 7", "(default)", "malformed packets: truncated drop"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn rules_come_and_go_and_the_others_count_on() {
    let stage = Stage::new();
    let said = stage.json(&["filter", "add", "eth0", "drop udp dport 7", "--name", "seven"]);
    assert_eq!(said["updated"], false, "a first rule is a filter");
    to(&stage, &[7, 8]);
    counted(&stage, 2);
    let add = ["filter", "add", "eth0", "count udp", "--name", "all", "--before", "seven"];
    let said = stage.json(&add);
    assert_eq!((&said["updated"], &said["rules"]), (&json!(true), &json!(["all", "seven"])));
    to(&stage, &[7, 8]);
    assert_eq!(rules(&counted(&stage, 4)), expected(&[("all", 2), ("seven", 2)]));

    stage.run(&["filter", "remove", "eth0", "all"]).ended(0);
    stage.run(&["filter", "add", "eth0", "drop udp dport 8"]).ended(0);
    to(&stage, &[7, 8]);
    let shown = counted(&stage, 6);
    assert_eq!(rules(&shown), expected(&[("seven", 3), ("drop-udp-dport-8", 1)]));
    assert_eq!(shown["gone"]["packets"], 2, "what `all` counted");

    // A rule that means something else is another rule, whatever its name.
    load(&stage, &["seven: drop udp dport 9"]);
    to(&stage, &[9]);
    let shown = counted(&stage, 7);
    assert_eq!((rules(&shown), &shown["gone"]["packets"]), (expected(&[("seven", 1)]), &json!(6)));

    let said = stage.json(&["filter", "flush", "eth0"]);
    assert_eq!(said["rules"], json!([]));
    let wire = Capture::open(&stage.net.b, "eth0").unwrap();
    to(&stage, &[9]);
    let passed = stage.flow(9).udp(b"x").unwrap();
    wire.next(PATIENCE, |seen| seen == passed).unwrap();
    stage.run(&["filter", "unload", "eth0"]).ended(0);
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn a_refused_change_leaves_the_active_rules() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    to(&stage, &[7]);
    let before = (rules(&counted(&stage, 1)), stage.attached());
    let bad = file(&stage, "bad.toml", "rules = ['drop udp dport 70000', 'drop form 10.0.0.1']");
    let gone = file(&stage, "gone.toml", "rules = ['redirect eth9 udp']");
    let none = stage.xway.state().join("none.toml").to_str().unwrap().to_owned();
    let table: &[(&[&str], &[&str])] = &[
        (&["load", "eth0", &bad], &["bad.toml", "70000", "from"]),
        (&["load", "eth0", &gone], &["eth9"]),
        (&["load", "eth0", &none], &["none.toml"]),
        (&["add", "eth0", "drop udp dport 8", "--name", "seven"], &["seven", "already"]),
        (&["add", "eth0", "drop udp", "--before", "sven"], &["did you mean `seven`?"]),
        (&["add", "eth0", "drop upd"], &["upd", "udp"]),
        (&["remove", "eth0", "seven", "eight"], &["`eight`"]),
        (&["unban", "eth0", "10.0.0.1"], &["10.0.0.1 is not banned"]),
        (&["show", "eth7"], &["no interface `eth7`"]),
        (&["show", "lo"], &["no filter runs on lo", "xway filter load"]),
    ];
    for (words, parts) in table {
        let text = stage.run(&[&["filter"], *words].concat()).error();
        for part in *parts {
            assert!(text.contains(part), "{words:?}: {part} in {text}");
        }
        assert_eq!((rules(&show(&stage)), stage.attached()), before, "{words:?}");
    }
}

#[test]
fn another_program_is_not_replaced_unless_that_is_requested() {
    let stage = Stage::new();
    let members = || {
        let chain = stage.json(&["chain", "eth0", "show"]);
        let members = chain["members"].as_array().unwrap().clone();
        members.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    stage.run(&["attach", "eth0", "forward"]).ended(0);
    stage.run(&["filter", "add", "eth0", "drop udp"]).ended(0);
    assert_eq!(members(), ["filter", "forward"], "a filter in front of a router");
    stage.run(&["filter", "add", "eth0", "drop tcp", "--replace"]).ended(0);
    to(&stage, &[7]);
    assert_eq!(rules(&counted(&stage, 1)), expected(&[("drop-udp", 1), ("drop-tcp", 0)]));
    stage.run(&["attach", "eth0", "drop", "--replace"]).ended(0);
    assert_eq!(members(), ["drop"]);
}

#[test]
fn sets_outlive_their_files() {
    let stage = Stage::new();
    let list = file(&stage, "bad.txt", "10.0.0.1\n2001:db8::/32\n");
    let text = "rules = ['bad: drop from @bad']\n[sets]\nbad = { file = 'bad.txt' }\n";
    stage.run(&["filter", "load", "eth0", &file(&stage, "f.toml", text)]).ended(0);
    std::fs::remove_file(list).unwrap();
    stage.run(&["filter", "add", "eth0", "count udp", "--before", "bad"]).ended(0);
    to(&stage, &[7]);
    let shown = counted(&stage, 1);
    assert_eq!(rules(&shown), expected(&[("count-udp", 1), ("bad", 1)]));
    assert_eq!(shown["sets"], json!([{ "name": "bad", "v4_ranges": 1, "v6_ranges": 1 }]));
    let kept = stage.run(&["filter", "show", "eth0", "--toml"]).ended(0);
    assert!(kept.contains("10.0.0.1") && !kept.contains("bad.txt"), "{kept}");
}

#[test]
fn down_and_up_and_another_mode() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    to(&stage, &[7]);
    counted(&stage, 1);
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let mut netlink = stage.net.b.netlink().unwrap();
    netlink.set_up(ifindex, false).unwrap();
    let said = stage.run(&["filter", "add", "eth0", "drop udp dport 8"]);
    assert!(said.stderr.contains("`ip link set eth0 up`"), "{}", said.stderr);
    netlink.set_up(ifindex, true).unwrap();
    until("the carrier", PATIENCE, || Ok(netlink.link_by_index(ifindex)?.running.then_some(())))
        .unwrap();
    to(&stage, &[7, 8]);
    assert_eq!(rules(&counted(&stage, 3)), expected(&[("seven", 2), ("drop-udp-dport-8", 1)]));

    let add = ["filter", "add", "eth0", "drop udp dport 9", "--mode", "generic"];
    assert_eq!(stage.json(&add)["mode"], "generic");
    to(&stage, &[9, 7]);
    let wanted = [("seven", 3), ("drop-udp-dport-8", 1), ("drop-udp-dport-9", 1)];
    assert_eq!(rules(&counted(&stage, 5)), expected(&wanted));
    let add = ["filter", "remove", "eth0", "drop-udp-dport-8"];
    assert_eq!(stage.json(&add)["mode"], "generic", "it stays where it is");
}

#[test]
fn bans_by_hand_hold_under_other_rules() {
    let stage = Stage::new();
    load(&stage, &["count udp"]);
    to(&stage, &[7]);
    counted(&stage, 1);
    let said = stage.json(&["filter", "ban", "eth0", "10.0.0.1", "fd00::9"]);
    assert_eq!(said["bans"].as_array().unwrap().len(), 2, "{said}");
    to(&stage, &[7, 7]);
    let shown = counted(&stage, 3);
    assert_eq!(
        rules(&shown),
        expected(&[("count-udp", 1)]),
        "nothing of a banned source is judged"
    );
    load(&stage, &["count udp", "drop tcp"]);
    to(&stage, &[7]);
    counted(&stage, 4);
    let bans = stage.json(&["filter", "bans", "eth0"]);
    let wanted = json!({ "source": "10.0.0.1", "left_s": null, "packets": 3 });
    assert_eq!(bans["bans"][0], wanted);
    stage.run(&["filter", "unban", "eth0", "10.0.0.1", "fd00::9"]).ended(0);
    to(&stage, &[7]);
    assert_eq!(rules(&counted(&stage, 5)), expected(&[("count-udp", 2), ("drop-tcp", 0)]));
}
