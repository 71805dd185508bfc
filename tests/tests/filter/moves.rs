//! An interface under a filter goes down and up, is made again, is renamed, or moves to another
//! namespace: what the filter then does, and what is reported.

use std::os::fd::AsFd;

use lab::{Host, until};
use xway_tests::filter::{counted, expected, file, load, rules, show, total};
use xway_tests::stage::{PATIENCE, Stage};

const SEVEN: &str = "seven: drop udp dport 7";

fn ip(host: &Host, words: &[&str]) {
    let done = host.command("ip").unwrap().args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Until frames get through: a carrier takes its time.
fn is_up(stage: &Stage) {
    for host in [&stage.net.a, &stage.net.b] {
        let carrier = || {
            let link = host.command("ip").unwrap().args(["-o", "link", "show", "up"]).output();
            let text = String::from_utf8(link.unwrap().stdout).unwrap();
            Ok((text.matches("state UP").count() == 1).then_some(()))
        };
        until("the carrier", PATIENCE, carrier).unwrap();
    }
}

fn seven(stage: &Stage) -> Vec<u8> {
    stage.flow(7).udp(b"x").unwrap()
}

#[test]
fn down_and_up_the_filter_remains_with_its_counts() {
    let stage = Stage::new();
    load(&stage, &[SEVEN]);
    let program = stage.attached();
    stage.send(&seven(&stage), 2);
    counted(&stage, 2);
    let frame = seven(&stage);
    ip(&stage.net.b, &["link", "set", "eth0", "down"]);
    assert_eq!(stage.attached(), program);
    assert_eq!(rules(&show(&stage)), expected(&[("seven", 2)]), "it can be looked at");
    // And changed: `load` reports that nothing arrives.
    let added = stage.run(&["filter", "add", "eth0", "drop udp dport 8", "--name", "eight"]);
    assert!(added.stderr.contains("eth0 is down"), "{}", added.stderr);
    added.ended(0);
    ip(&stage.net.b, &["link", "set", "eth0", "up"]);
    is_up(&stage);
    stage.send(&frame, 1);
    let shown = counted(&stage, 3);
    assert_eq!(rules(&shown), expected(&[("seven", 3), ("eight", 0)]));
}

#[test]
fn made_again_under_its_name_it_has_no_filter() {
    let stage = Stage::new();
    load(&stage, &[SEVEN]);
    let old = stage.net.b.ifindex("eth0").unwrap();
    ip(&stage.net.b, &["link", "delete", "eth0"]);
    ip(&stage.net.b, &["link", "add", "eth0", "type", "veth", "peer", "name", "eth1"]);
    assert_ne!(stage.net.b.ifindex("eth0").unwrap(), old, "another interface");
    let told = stage.run(&["filter", "show", "eth0"]).error();
    assert!(told.contains("no filter runs on eth0") && told.contains("filter load"), "{told}");
    assert_eq!(stage.attached(), []);
    load(&stage, &[SEVEN]);
    assert_eq!(rules(&show(&stage)), expected(&[("seven", 0)]), "it begins anew");
    let slots = stage.pins().iter().filter(|pin| pin.ends_with("link")).count();
    assert_eq!(slots, 1, "what was left of the old one is swept: {:?}", stage.pins());
    ip(&stage.net.b, &["link", "delete", "eth0"]);
}

#[test]
fn renamed_it_is_found_by_its_new_name() {
    let stage = Stage::new();
    load(&stage, &[SEVEN]);
    let frame = seven(&stage);
    ip(&stage.net.b, &["link", "set", "eth0", "down"]);
    ip(&stage.net.b, &["link", "set", "eth0", "name", "lan0"]);
    ip(&stage.net.b, &["link", "set", "lan0", "up"]);
    assert!(stage.run(&["filter", "show", "eth0"]).error().contains("lan0"));
    is_up(&stage);
    stage.send(&frame, 1);
    let words = ["filter", "show", "lan0", "--interval", "1ms"];
    let shown = until("the packet", PATIENCE, || {
        let shown = stage.json(&words);
        Ok((total(&shown) > 0).then_some(shown))
    });
    assert_eq!(rules(&shown.unwrap()), expected(&[("seven", 1)]));
    stage.run(&["filter", "unload", "lan0"]).ended(0);
    assert!(stage.pins().is_empty(), "{:?}", stage.pins());
}

/// The program continues to run, but only its own namespace can change it: that is reported, and
/// moved back the interface has its filter as before.
#[test]
fn moved_to_another_namespace() {
    let stage = Stage::new();
    let (here, away) = (&stage.net.b, &stage.net.a);
    ip(here, &["link", "add", "out0", "type", "veth", "peer", "name", "out1"]);
    let rules_file = file(&stage, "out.toml", &format!("rules = ['{SEVEN}']"));
    stage.run(&["filter", "load", "out0", &rules_file]).ended(0);
    let ifindex = here.ifindex("out0").unwrap();
    here.netlink().unwrap().move_to(ifindex, away.netns().as_fd()).unwrap();
    let told = stage.run(&["filter", "show", "out0"]).error();
    assert!(told.contains("no interface `out0` here"), "{told}");
    assert!(away.netlink().unwrap().link("out0").unwrap().xdp.native.is_some(), "it runs on");
    for words in [&["show", "out0"][..], &["bans", "out0"]] {
        let told = stage.xway.run_in(away, &[&["filter"], words].concat()).error();
        assert!(told.contains("another network namespace"), "{words:?}: {told}");
    }
    // Another command removes nothing that still runs.
    load(&stage, &["eight: drop udp dport 8"]);
    let told = stage.xway.run_in(away, &["filter", "load", "out0", &rules_file]).error();
    assert!(told.contains("already runs"), "{told}");
    let ifindex = away.ifindex("out0").unwrap();
    away.netlink().unwrap().move_to(ifindex, here.netns().as_fd()).unwrap();
    let shown = stage.json(&["filter", "show", "out0", "--interval", "1ms"]);
    assert_eq!(rules(&shown), expected(&[("seven", 0)]));
    let ifindex = here.ifindex("out0").unwrap();
    here.netlink().unwrap().move_to(ifindex, away.netns().as_fd()).unwrap();
    stage.xway.run_in(away, &["detach", "--force", "out0"]).ended(0);
    assert_eq!(away.netlink().unwrap().link("out0").unwrap().xdp.native, None);
    stage.run(&["filter", "unload", "eth0"]).ended(0);
    assert!(stage.pins().is_empty(), "swept: {:?}", stage.pins());
    ip(away, &["link", "delete", "out0"]);
}
