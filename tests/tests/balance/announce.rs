//! Services are announced while they have a backend: the routes of the table, as iproute2 lists
//! them. The balancer is host `b`, and `a` is its backend.

use std::fs;
use std::process::{Child, Stdio};

use lab::until;
use serde_json::{Value, json};
use xway_tests::stage::{PATIENCE, Stage};

use super::command::stage;

const SERVICES: [&str; 3] = ["192.0.2.1", "198.51.100.0/24", "2001:db8::1"];
/// A route of another owner, which remains whatever happens.
const OTHER: &str = "blackhole 203.0.113.0/24 proto static";

/// A daemon that is killed at the end.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn own(stage: &Stage) -> String {
    stage.net.a.ipv4("eth0").unwrap().to_string()
}

/// A file of a service for each address, with `a` as its backend; `more` is added to each.
fn file(stage: &Stage, head: &str, addresses: &[&str], more: &str) -> String {
    let mut text = format!("{head}\n");
    for (number, address) in addresses.iter().enumerate() {
        text += &format!(
            "[[service]]\nname = 's{number}'\naddress = '{address}'\nprotocol = 'tcp'\nport = 80\n\
             backend = [{{ address = '{}' }}]\n{more}\n",
            own(stage)
        );
    }
    let path = stage.xway.state().join("services.toml");
    fs::create_dir_all(stage.xway.state()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn load(stage: &Stage, head: &str, addresses: &[&str]) -> Value {
    let path = file(stage, head, addresses, "");
    stage.json(&["balance", "load", "eth0", &path])
}

fn ip(stage: &Stage, words: &str) -> String {
    let output = stage.net.b.command("ip").unwrap().args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The routes of a table, both families: destination and owner.
fn table(stage: &Stage, table: u32) -> Vec<String> {
    let list = |family: &str| {
        let words = format!("{family} route show table {table}");
        // A table that was never used is an error.
        let output = stage.net.b.command("ip").unwrap().args(words.split(' ')).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let words = |line: &str| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    [list("-4"), list("-6")].iter().flat_map(|text| text.lines()).map(words).collect()
}

/// Waits until the table has these routes and no others.
#[track_caller]
fn has(stage: &Stage, number: u32, expected: &[&str]) {
    let mut last = Vec::new();
    let found = until("routes", PATIENCE, || {
        last = table(stage, number);
        Ok((last == expected).then_some(()))
    });
    assert!(found.is_ok(), "{expected:?} is expected: {last:?}");
}

fn announced(stage: &Stage) -> Vec<Value> {
    let shown = stage.json(&["balance", "show"]);
    let services = shown["balancers"][0]["services"].as_array().unwrap();
    services.iter().map(|one| one["announced"].clone()).collect()
}

const ALL: [&str; 4] = [
    "blackhole 192.0.2.1 proto 120",
    "blackhole 198.51.100.0/24 proto 120",
    OTHER,
    "blackhole 2001:db8::1 dev lo",
];
const HEAD: &str = "announce = { table = 77 }";

#[test]
fn routes_follow_backends_and_files() {
    let stage = stage();
    let own = own(&stage);
    ip(&stage, &format!("route add {OTHER} table 77"));
    assert_eq!(load(&stage, "", &SERVICES)["updated"], false);
    assert_eq!(table(&stage, 77), [OTHER]);
    assert_eq!(announced(&stage), [Value::Null, Value::Null, Value::Null]);

    assert_eq!(load(&stage, HEAD, &SERVICES)["updated"], true);
    assert_eq!(table(&stage, 77), ALL);
    let listed = ip(&stage, "-6 route show table 77");
    assert!(listed.contains("proto 120"), "{listed}");
    assert_eq!(announced(&stage), [true, true, true]);
    let set = |service: &str, state: &str| {
        stage.json(&["balance", "set", "eth0", &own, "--service", service, state]);
    };
    stage.json(&["balance", "drain", "eth0", &own, "--service", "s0"]);
    assert_eq!(table(&stage, 77), ALL[1..]);
    assert_eq!(announced(&stage), [false, true, true]);
    let text = stage.run(&["balance", "show"]).ended(0);
    assert!(text.contains("\nannounced: s1, s2\nnot announced: s0"), "{text}");
    set("s0", "--up");
    set("s2", "--down");
    assert_eq!(table(&stage, 77), ALL[..3]);
    stage.json(&["balance", "set", "eth0", &own, "--service", "s1", "--weight", "0"]);
    assert_eq!(table(&stage, 77), [ALL[0], OTHER]);

    // Another table, fewer services, none.
    load(&stage, "announce = { table = 100078 }", &SERVICES[..2]);
    assert_eq!(table(&stage, 77), [OTHER]);
    assert_eq!(table(&stage, 100_078), ALL[..2]);
    load(&stage, HEAD, &SERVICES[1..2]);
    assert_eq!(table(&stage, 77), ALL[1..3]);
    assert!(table(&stage, 100_078).is_empty());
    load(&stage, "", &SERVICES);
    assert_eq!(table(&stage, 77), [OTHER]);

    // What is replaced, detached, or removed from a chain.
    let path = file(&stage, HEAD, &SERVICES, "");
    stage.json(&["balance", "load", "eth0", &path, "--replace"]);
    assert_eq!(table(&stage, 77), ALL);
    stage.run(&["detach", "eth0"]).ended(0);
    assert_eq!(table(&stage, 77), [OTHER]);
    load(&stage, HEAD, &SERVICES[..1]);
    assert_eq!(table(&stage, 77), [ALL[0], OTHER]);
    stage.json(&["chain", "eth0", "remove", "balance"]);
    assert_eq!(table(&stage, 77), [OTHER]);
}

#[test]
fn tables_that_the_kernel_forwards_by_are_refused() {
    let stage = stage();
    let refused = |head: &str| {
        let path = file(&stage, head, &SERVICES[..1], "");
        stage.run(&["balance", "load", "eth0", &path]).error()
    };
    for (number, name) in [(254, "main"), (255, "local"), (253, "default")] {
        let error = refused(&format!("announce = {{ table = {number} }}"));
        assert!(error.contains(&format!("table {number} (`{name}`)")), "{error}");
    }
    ip(&stage, "rule add from 10.9.9.9 lookup 77 priority 500");
    let error = refused(HEAD);
    assert!(error.contains("priority 500 selects table 77"), "{error}");
    assert!(stage.json(&["balance", "show"])["balancers"] == json!([]), "nothing is attached");
    // A route of another owner to a service remains; the services are loaded.
    ip(&stage, "rule del priority 500");
    ip(&stage, "route add blackhole 192.0.2.1 proto static table 77");
    let path = file(&stage, HEAD, &SERVICES[..2], "");
    let answer = stage.run(&["balance", "load", "eth0", &path]);
    assert!(answer.stderr.contains("services are not announced: "), "{}", answer.stderr);
    assert!(answer.stderr.contains("192.0.2.1/32 table 77"), "{}", answer.stderr);
    answer.ended(0);
    assert_eq!(table(&stage, 77), ["blackhole 192.0.2.1 proto static", ALL[1]]);
}

/// The daemon repairs tables, and its death changes nothing.
#[test]
fn a_daemon_repairs_routes_and_its_death_leaves_them() {
    let stage = stage();
    ip(&stage, &format!("route add {OTHER} table 77"));
    load(&stage, HEAD, &SERVICES);
    let start = || {
        let words = ["daemon", "--no-apply", "--listen", "127.0.0.1:0"];
        let mut command = stage.xway.command_in(&stage.net.b, &words);
        Daemon(command.stderr(Stdio::null()).spawn().unwrap())
    };
    // What is left of a balancer that ran before, in this table and in another one.
    ip(&stage, "route add blackhole 192.0.2.99 proto 120 table 77");
    ip(&stage, "route add blackhole 192.0.2.99 proto 120 table 88");
    ip(&stage, "route del blackhole 192.0.2.1 table 77");
    let daemon = start();
    has(&stage, 77, &ALL);
    has(&stage, 88, &[]);
    ip(&stage, "route flush table 77 proto 120");
    ip(&stage, "-6 route flush table 77 proto 120");
    has(&stage, 77, &ALL);
    drop(daemon);
    assert_eq!(table(&stage, 77), ALL);
    assert_eq!(announced(&stage), [true, true, true]);

    // An interface that vanishes takes its balancer along.
    let _daemon = start();
    ip(&stage, "link del eth0");
    has(&stage, 77, &[OTHER]);
}

/// By default checks leave a service half of its backends, so it is announced although all fail.
#[test]
fn checks_withdraw_what_they_take_out() {
    let stage = stage();
    let health = |most: &str| {
        format!(
            "health = {{ check = 'tcp', interval = '100ms', timeout = '100ms', fall = 2, \
             rise = 1, hold = '10ms'{most} }}"
        )
    };
    let with = |most: &str| {
        // Packets are for an address that `a` does not have.
        let more = format!("delivery = 'mac'\n{}", health(most));
        let path = file(&stage, HEAD, &SERVICES[..1], &more);
        stage.json(&["balance", "load", "eth0", &path]);
    };
    with("");
    let path = stage.xway.state().join("events");
    let mut command = stage.xway.command_in(&stage.net.b, &["--json", "balance", "health", "eth0"]);
    command.stdout(fs::File::create(&path).unwrap());
    let _checker = Daemon(command.spawn().unwrap());
    until("a failure", PATIENCE, || {
        let shown = stage.json(&["balance", "show"]);
        let service = &shown["balancers"][0]["services"][0];
        Ok((service["fails_open"] == true).then_some(()))
    })
    .unwrap();
    assert_eq!(table(&stage, 77), ALL[..1], "the only backend is in use");
    with(", most = 1.0");
    has(&stage, 77, &[]);
    assert_eq!(announced(&stage), [false]);
    let add = ["addr", "add", "192.0.2.1/32", "dev", "lo"];
    let added = stage.net.a.command("ip").unwrap().args(add).status().unwrap();
    assert!(added.success());
    let _server = stage.net.a.run(|| std::net::TcpListener::bind("192.0.2.1:80")).unwrap().unwrap();
    has(&stage, 77, &ALL[..1]);
    let mut routes = Vec::new();
    until("both events", PATIENCE, || {
        let events = fs::read_to_string(&path).unwrap();
        let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let events = events.filter(|one| one["service"].is_null());
        routes = events.map(|one| (one["event"].clone(), one["reason"].clone())).collect();
        Ok((routes.len() >= 2).then_some(()))
    })
    .unwrap();
    let reason = json!("192.0.2.1/32 in table 77");
    let expected = ["withdrawn", "announced"].map(|event| (json!(event), reason.clone()));
    assert_eq!(routes, expected);
}
