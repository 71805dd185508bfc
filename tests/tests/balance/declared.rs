//! Balancers that are declared: attached, changed in place, saved, and exported as metrics.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use xway_tests::declarations::Files;
use xway_tests::stage::Stage;

use super::command::{backends, send, sent, stage};

/// A file of services whose backends have these last bytes in the network of host `a`.
fn services(stage: &Stage, files: &Files<'_>, backends: &[u8]) {
    let own = stage.net.a.ipv4("eth0").unwrap();
    let [a, b, c, _] = own.octets();
    let backends =
        backends.iter().map(|n| format!("{{ address = '{a}.{b}.{c}.{n}' }}")).collect::<Vec<_>>();
    let text = format!(
        "key = 'a secret'\n[[service]]\nname = 'web'\naddress = '192.0.2.1'\n\
         protocol = 'tcp'\nport = 80\nbackend = [{}]\n",
        backends.join(", ")
    );
    files.write("services.list", &text);
}

fn own_number(stage: &Stage) -> u8 {
    stage.net.a.ipv4("eth0").unwrap().octets()[3]
}

const DECLARED: &str = "interface = 'eth0'\n[[program]]\nbalance = 'services.list'\n";

#[test]
fn a_declared_balancer_changes_in_place() {
    let stage = stage();
    let files = Files::new(&stage);
    let own = own_number(&stage);
    services(&stage, &files, &[own]);
    files.write("eth0.toml", DECLARED);
    assert_eq!(files.plan(), ["attach"]);
    files.applied();
    assert!(files.plan().is_empty(), "the outer source that was found is not a difference");
    let program = stage.attached();
    send(&stage, 20);
    sent(&stage, 20);

    services(&stage, &files, &[own, 200]);
    assert_eq!(files.plan(), ["rules"]);
    files.applied();
    assert_eq!(stage.attached(), program);
    send(&stage, 20);
    sent(&stage, 40);
    assert_eq!(backends(&stage)[1]["packets"], 0, "older connections remain");

    files.write("eth0.toml", &format!("{DECLARED}out = ['lo']\n"));
    assert_eq!(files.plan(), ["rules"]);
    files.applied();
    assert_eq!(stage.attached(), program);

    // A filter before it: the balancer remains the same member, and its services change with it.
    files.write("rules.list", "rules = ['one: drop tcp sport 1000']\n");
    let both = format!("{DECLARED}[[program]]\nfilter = 'rules.list'\n");
    files.write("eth0.toml", &both);
    services(&stage, &files, &[own, 201]);
    let mut plan = files.plan();
    plan.sort();
    assert_eq!(plan, ["attach", "rules", "rules"]);
    files.applied();
    assert!(files.plan().is_empty());
    send(&stage, 20);
    sent(&stage, 59);
    let counts: Vec<_> = backends(&stage).iter().map(|one| one["packets"].clone()).collect();
    assert_eq!(counts[0], 59, "older connections remain, and one is dropped: {counts:?}");

    let text = fs::read_to_string(files.dir.join("services.list")).unwrap();
    files.write("services.list", &text.replace("a secret", "another secret"));
    assert_eq!(files.plan(), ["options"]);
    let shown = files.apply(&["--plan"]).stdout;
    assert!(!shown.contains("another secret"), "{shown}");
}

#[test]
fn a_balancer_is_saved_and_applies_without_changes() {
    let stage = stage();
    let files = Files::new(&stage);
    services(&stage, &files, &[own_number(&stage), 200]);
    let list = files.dir.join("services.list");
    stage.run(&["balance", "load", "eth0", list.to_str().unwrap(), "--out", "lo"]).ended(0);
    let backend = backends(&stage)[1]["address"].as_str().unwrap().to_owned();
    stage.run(&["balance", "drain", "eth0", &backend]).ended(0);
    let dir = files.dir.to_str().unwrap();
    let saved = stage.json(&["save", dir]);
    assert!(saved["skipped"].as_array().unwrap().is_empty(), "{saved}");
    let path = files.dir.join("services/eth0.toml");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it has the key");
    assert!(fs::read_to_string(&path).unwrap().contains("drain"));
    assert_eq!(files.plan(), ["adopt"]);
    files.applied();
    assert!(files.plan().is_empty());
}
