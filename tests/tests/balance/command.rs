//! `balance` on the command line.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

use lab::frame::TcpFlags;
use lab::until;
use serde_json::{Value, json};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::{Xway, interrupt};

const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
const SERVICE: &str = "192.0.2.1";

/// A file of one service with these backends.
fn file(stage: &Stage, name: &str, backends: &str) -> String {
    let path = stage.xway.state().join(name);
    let text = format!(
        "[[service]]\nname = 'web'\naddress = '{SERVICE}'\nprotocol = 'tcp'\nport = 80\n\
         backend = [{backends}]\n"
    );
    fs::create_dir_all(stage.xway.state()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A stage whose host `b` forwards.
pub fn stage() -> Stage {
    let stage = Stage::new();
    stage.net.b.set_sysctl("ipv4/conf/eth0/forwarding", "1").unwrap();
    stage
}

fn own(stage: &Stage) -> String {
    stage.net.a.ipv4("eth0").unwrap().to_string()
}

/// An address of the same network that no host has.
fn other(own: &str) -> String {
    format!("{}.200", own.rsplit_once('.').unwrap().0)
}

fn backend(address: &str) -> String {
    format!("{{ address = '{address}' }}")
}

/// Sends segments of this number of connections to the service.
pub fn send(stage: &Stage, connections: u16) {
    let mut flow = stage.flow(80);
    flow.destination.ip = SERVICE.parse().unwrap();
    for port in 0..connections {
        flow.source.port = 1000 + port;
        stage.send(&flow.tcp(ACK, 1, b"").unwrap(), 1);
    }
}

pub fn backends(stage: &Stage) -> Vec<Value> {
    let shown = stage.json(&["balance", "show"]);
    shown["balancers"][0]["services"][0]["backends"].as_array().unwrap().clone()
}

/// Waits until the balancer sent this number of packets.
pub fn sent(stage: &Stage, packets: u64) {
    let sum = || backends(stage).iter().map(|one| one["packets"].as_u64().unwrap()).sum::<u64>();
    until("packets", PATIENCE, || Ok((sum() == packets).then_some(()))).unwrap();
}

#[test]
fn services_are_loaded_changed_and_shown() {
    let stage = stage();
    let own = own(&stage);
    let one = file(&stage, "one.toml", &backend(&own));
    let loaded = stage.json(&["balance", "load", "eth0", &one]);
    assert_eq!((&loaded["updated"], &loaded["services"]), (&json!(false), &json!(1)));
    let program = stage.attached();
    send(&stage, 20);
    sent(&stage, 20);

    let other = other(&own);
    let two = file(&stage, "two.toml", &[backend(&own), backend(&other)].join(", "));
    let loaded = stage.json(&["balance", "load", "eth0", &two]);
    assert_eq!((&loaded["updated"], stage.attached()), (&json!(true), program.clone()));
    let moved = &loaded["moved"][0];
    assert_eq!((&moved["service"], &moved["slots"]), (&json!("web"), &moved["kept"]));
    send(&stage, 20);
    sent(&stage, 40);
    assert_eq!(backends(&stage)[1]["packets"], 0, "older connections remain");

    let edited = stage.json(&["balance", "set", "eth0", &own, "--weight", "3"]);
    assert_eq!(edited["updated"], true);
    stage.json(&["balance", "drain", "eth0", &other]);
    let top = stage.json(&["balance", "top", "--once", "--interval", "1ms"]);
    let busiest = &top["backends"][0];
    assert_eq!((&busiest["address"], &busiest["packets"]), (&json!(own), &json!(40)));
    let shown = backends(&stage);
    let named = |key: &str| shown.iter().map(|one| one[key].clone()).collect::<Vec<_>>();
    assert_eq!(named("state"), ["up", "drain"]);
    assert_eq!(named("weight"), [3, 1]);
    assert_eq!(stage.json(&["balance", "settle", "eth0"])["remembered"], 0);
    assert_eq!(stage.attached(), program);
    stage.run(&["detach", "eth0"]).ended(0);
    assert_eq!(stage.json(&["balance", "show"])["balancers"], json!([]));
}

#[test]
fn flows_are_explained() {
    let stage = stage();
    let own = own(&stage);
    let services = file(&stage, "one.toml", &backend(&own));
    stage.run(&["balance", "load", "eth0", &services]).ended(0);
    let other = other(&own);
    let two = file(&stage, "two.toml", &backend(&other));
    stage.run(&["balance", "load", "eth0", &two]).ended(0);
    let flow = format!("tcp 10.0.0.7:4000 {SERVICE}:80");
    let found = stage.json(&["balance", "why", &flow]);
    let expected = json!({
        "interface": "eth0", "flow": flow, "service": "web", "slot": found["slot"],
        "backend": own, "by": "drain", "new": other, "translation": null,
    });
    assert_eq!(found, expected);
    stage.run(&["balance", "settle", "eth0"]).ended(0);
    let found = stage.json(&["balance", "why", &flow, "--dev", "eth0"]);
    assert_eq!((&found["backend"], &found["by"]), (&json!(other), &json!("slot")));
    let none = format!("tcp 10.0.0.7:4000 {SERVICE}:81");
    let answer = stage.run(&["balance", "why", &none]);
    let error = answer.stderr.clone();
    answer.ended(1);
    assert!(error.contains(&format!("no balancer has a service for {none}")), "{error}");
    let error = stage.run(&["balance", "why", &flow, "--dev", "lo"]).error();
    assert!(error.contains("no balancer runs on lo"), "{error}");
}

/// What the program was loaded with cannot change in place, and is not silently ignored.
#[test]
fn another_key_needs_a_replacement() {
    let stage = stage();
    let services = file(&stage, "one.toml", &backend(&own(&stage)));
    stage.run(&["balance", "load", "eth0", &services]).ended(0);
    let text = fs::read_to_string(&services).unwrap();
    fs::write(&services, format!("key = 'other'\n{text}")).unwrap();
    let error = stage.run(&["balance", "load", "eth0", &services]).error();
    assert!(error.contains("another `key`") && error.contains("--replace"), "{error}");
    stage.run(&["balance", "load", "eth0", &services, "--replace"]).ended(0);
}

#[test]
fn a_service_that_takes_over_a_socket_is_reported() {
    let stage = stage();
    let here = stage.net.b.ipv4("eth0").unwrap();
    let _listener = stage.net.b.run(|| TcpListener::bind((here, 2222))).unwrap().unwrap();
    let services = file(&stage, "one.toml", &backend(&own(&stage)));
    let text = fs::read_to_string(&services).unwrap().replace(SERVICE, &here.to_string());
    for (port, is_reported) in [("2223", false), ("2000-2300", true)] {
        fs::write(&services, text.replace("port = 80", &format!("port = '{port}'"))).unwrap();
        let loaded = stage.run(&["balance", "load", "eth0", &services]);
        let notice = format!("service `web` takes the packets of {here}:2222");
        assert_eq!(loaded.stderr.contains(&notice), is_reported, "{}", loaded.stderr);
        loaded.ended(0);
    }
}

/// Services that no record has would be forgotten by the next change.
#[test]
fn a_record_that_cannot_be_replaced_changes_nothing() {
    let stage = stage();
    let own = own(&stage);
    let other = other(&own);
    let words = ["neigh", "replace", &other, "lladdr", "02:78:77:00:0b:c8", "dev", "eth0"];
    assert!(stage.net.b.command("ip").unwrap().args(words).status().unwrap().success());
    let both = file(&stage, "both.toml", &[backend(&own), backend(&other)].join(", "));
    stage.run(&["balance", "load", "eth0", &both]).ended(0);
    let record = stage.pins().into_iter().find(|pin| pin.ends_with("xway_record")).unwrap();
    let in_the_way = stage.xway.state().join("bpf").join(record).with_file_name("xway_record_new");
    fs::create_dir(&in_the_way).unwrap();
    let down = ["balance", "set", "eth0", &other, "--down"];
    stage.run(&down).error();
    let one = file(&stage, "one.toml", &backend(&own));
    stage.run(&["balance", "load", "eth0", &one]).error();
    send(&stage, 100);
    sent(&stage, 100);
    let shown = backends(&stage);
    assert_eq!((shown.len(), &shown[1]["state"]), (2, &json!("up")));
    assert!(shown[1]["packets"].as_u64() > Some(10), "{shown:?}");
    fs::remove_dir(&in_the_way).unwrap();
    stage.run(&down).ended(0);
    let before = backends(&stage)[1]["packets"].clone();
    send(&stage, 100);
    sent(&stage, 200);
    assert_eq!(backends(&stage)[1]["packets"], before);
}

#[test]
fn a_filter_runs_before_a_balancer() {
    let stage = stage();
    let services = file(&stage, "one.toml", &backend(&own(&stage)));
    stage.run(&["balance", "load", "eth0", &services]).ended(0);
    send(&stage, 3);
    sent(&stage, 3);
    let rules = stage.xway.state().join("rules.toml");
    fs::write(&rules, "rules = ['one: drop tcp sport 1000']\n").unwrap();
    stage.run(&["filter", "load", "eth0", rules.to_str().unwrap()]).ended(0);
    send(&stage, 3);
    sent(&stage, 5);
    let two = file(&stage, "two.toml", &backend(&other(&own(&stage))));
    let loaded = stage.json(&["balance", "load", "eth0", &two]);
    assert_eq!(loaded["updated"], true, "in a chain, too");
    let chain = stage.json(&["chain", "eth0", "show"]);
    let names: Vec<_> =
        chain["members"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["filter", "balance"]);
}

/// The kernel sees no packet to the backend, so it would not notice that the address changed.
#[test]
fn the_daemon_keeps_next_hops_known() {
    let stage = stage();
    let own = own(&stage);
    let services = file(&stage, "one.toml", &backend(&own));
    stage.run(&["balance", "load", "eth0", &services]).ended(0);
    let ip = |words: &str| {
        let mut command = stage.net.b.command("ip").unwrap();
        let output = command.args(words.split(' ')).output().unwrap();
        assert!(output.status.success(), "ip {words}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    ip(&format!("neigh del {own} dev eth0"));
    send(&stage, 3);
    let declared = stage.xway.state().join("declared");
    let words = ["daemon", declared.to_str().unwrap(), "--listen", "127.0.0.1:0"];
    let mut daemon = stage.xway.command_in(&stage.net.b, &words).spawn().unwrap();
    let known = || Ok(ip(&format!("neigh show {own}")).contains("lladdr").then_some(()));
    let found = until("the next hop", PATIENCE, known);
    interrupt(&daemon);
    daemon.wait().unwrap();
    found.unwrap();
    send(&stage, 4);
    sent(&stage, 4);
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    let stage = Stage::new();
    let services = file(&stage, "one.toml", &backend("10.99.99.99"));
    let error = stage.run(&["balance", "drain", "eth0", "10.99.99.99"]).error();
    assert!(error.contains("no balancer runs on eth0: `xway balance load eth0 FILE`"), "{error}");
    let error = stage.run(&["balance", "load", "eth0", &services]).error();
    assert!(error.contains("backend 10.99.99.99") && error.contains("`source`"), "{error}");
    let wrong = file(&stage, "wrong.toml", "{ address = '10.0.0.2', wieght = 3 }");
    let error = stage.run(&["balance", "load", "eth0", &wrong]).error();
    assert!(error.contains("wrong.toml") && error.contains("wieght"), "{error}");
    let own = own(&stage);
    let services = file(&stage, "own.toml", &backend(&own));
    let error = stage.run(&["balance", "load", "eth0", &services]).error();
    assert!(error.contains("sysctl -w net.ipv4.conf.eth0.forwarding=1"), "{error}");
    stage.net.b.set_sysctl("ipv4/conf/eth0/forwarding", "1").unwrap();
    stage.run(&["balance", "load", "eth0", &services]).ended(0);
    let error = stage.run(&["balance", "set", "eth0", "10.1.1.1", "--weight", "2"]).error();
    assert!(error.contains("no backend `10.1.1.1`") && error.contains(&own), "{error}");
    let error = stage.run(&["balance", "drain", "eth0", &own, "--service", "dns"]).error();
    assert!(error.contains("no service `dns`; it has web"), "{error}");
    let many: Vec<_> = (0..100).map(|n| backend(&format!("10.99.1.{n}"))).collect();
    let many = format!("{}, {}", backend(&own), many.join(", "));
    let many = file(&stage, "many.toml", &many);
    let error = stage.run(&["balance", "load", "eth0", &many]).error();
    assert!(error.contains("no space for more backends") && error.contains("--replace"), "{error}");
    stage.run(&["balance", "load", "eth0", &many, "--replace"]).ended(0);
    assert_eq!(backends(&stage).len(), 101);
}

/// Neither needs rights.
#[test]
fn files_are_checked_and_compared() {
    let xway = Xway::new();
    let write = |name: &str, backends: &[&str]| -> PathBuf {
        let backends: Vec<_> = backends.iter().map(|address| backend(address)).collect();
        let path = std::env::temp_dir().join(format!("xway-{}-{name}", std::process::id()));
        let text = format!(
            "[[service]]\nname = 'web'\naddress = '{SERVICE}'\nprotocol = 'udp'\n\
             backend = [{}]\n",
            backends.join(", ")
        );
        fs::write(&path, text).unwrap();
        path
    };
    let (old, new) = (write("old", &["10.0.0.1", "10.0.0.2"]), write("new", &["10.0.0.1"]));
    let [old, new] = [&old, &new].map(|path| path.to_str().unwrap());
    let checked = xway.run(&["--json", "balance", "check", old]).json(0);
    assert_eq!(checked, json!({ "services": 1, "backends": 2 }));
    let plan = xway.run(&["--json", "balance", "plan", old, new]).json(0);
    let service = &plan["services"][0];
    assert_eq!((&service["moved"], &service["even"]), (&service["required"], &json!(1.0)));
    assert!((0.49..0.51).contains(&plan["moved"].as_f64().unwrap()), "{plan}");
    for path in [old, new] {
        fs::remove_file(path).unwrap();
    }
}
