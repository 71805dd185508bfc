//! `xway filter detect`: a flood beside a service is found, stopped for a time, and let go.

use std::process::{Child, Stdio};
use std::time::Duration;

use lab::until;
use serde_json::{Value, json};
use xway_tests::background::{reflection, service};
use xway_tests::filter::{file, load, rules, show};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::Answer;

fn detecting(stage: &Stage, words: &[&str]) -> Child {
    let words = [&["--json", "filter", "detect", "eth0", "--above", "100pps"], words].concat();
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(child: Child, code: i32) -> Value {
    Answer::of(child.wait_with_output().unwrap()).json(code)
}

/// What is shown of a rule.
fn rule(stage: &Stage, name: &str) -> Option<Value> {
    let answer = stage.run(&["--json", "filter", "show", "eth0", "--interval", "1ms"]);
    let shown: Value = serde_json::from_str(&answer.stdout).ok()?;
    shown["rules"].as_array()?.iter().find(|rule| rule["name"] == name).cloned()
}

#[track_caller]
fn until_rule(stage: &Stage, what: &str, is: impl Fn(Option<&Value>) -> bool) {
    let found = || Ok(is(rule(stage, RULE).as_ref()).then_some(()));
    until(what, Duration::from_secs(30), found).unwrap();
}

fn packets(rule: &Value) -> u64 {
    rule["packets"].as_u64().unwrap()
}

const RULE: &str = "detect-1";
const SUGGESTED: &str = "udp sport 53 to 10.0.0.2";

#[test]
fn a_flood_is_found_beside_a_service_where_no_filter_runs() {
    let stage = Stage::new();
    let (service, flood) = (service(&stage), reflection(&stage));
    let detected = ended(detecting(&stage, &["--for", "3s", "--hold", "5m"]), 0);
    let first = &detected["findings"][0];
    assert_eq!(first["rule"], format!("drop for 5m {SUGGESTED}"), "{detected:#}");
    assert!(first["collateral"].as_f64().unwrap() < 0.02, "{first:#}");
    assert!(first["of_flood"].as_f64().unwrap() > 0.9, "{first:#}");
    assert_eq!(first["applied"], Value::Null);
    let busiest = detected["busiest"].as_array().unwrap().iter();
    let kinds: Vec<_> = busiest.filter(|one| one["most"] != json!([])).collect();
    assert!(
        kinds.iter().any(|one| one["kind"] == "sport" && one["most"][0]["what"] == "udp sport 53")
    );
    // The service's connections are seen, and are in no finding that could be loaded.
    let others = detected["findings"].as_array().unwrap().iter().skip(1);
    others.for_each(|one| assert!(one["collateral"].as_f64().unwrap() > 0.5, "{one:#}"));
    assert_eq!(stage.attached(), [], "everything is as before");
    assert_eq!(stage.pins(), Vec::<std::path::PathBuf>::new());
    service.pass(5);
    drop((service, flood));
    // Without the flood there is no finding.
    let quiet = ended(detecting(&stage, &["--for", "300ms"]), 1);
    assert_eq!(quiet["findings"], json!([]));
}

#[test]
fn what_is_found_is_stopped_for_a_time() {
    let stage = Stage::new();
    load(&stage, &["web: pass tcp dport 80", "seven: drop udp dport 7"]);
    let (service, flood) = (service(&stage), reflection(&stage));
    let child = detecting(&stage, &["--for", "2s", "--auto", "--hold", "8s"]);
    until_rule(&stage, "the rule stops packets", |rule| rule.is_some_and(|it| packets(it) > 100));
    let held = rule(&stage, RULE).unwrap();
    assert_eq!(held["text"], format!("drop for 8s {SUGGESTED}"));
    assert!(held["left_s"].as_f64().unwrap() > 0.0, "{held:#}");
    // The service lives, and all of the flood is dropped.
    service.pass(20);
    let (before, after) = (show(&stage), {
        flood.pass(20);
        show(&stage)
    });
    let passed = |shown: &Value| shown["default"]["packets"].as_u64().unwrap();
    assert_eq!(passed(&before), passed(&after), "the default passes nothing of it");
    // A change of rules by another command keeps the end.
    let left = || rule(&stage, RULE).unwrap()["left_s"].as_f64().unwrap();
    let then = left();
    stage.run(&["filter", "add", "eth0", "drop udp dport 9", "--name", "nine"]).ended(0);
    assert!(left() < then, "it does not begin anew");
    let detected = ended(child, 0);
    assert_eq!(detected["findings"][0]["applied"], RULE, "{detected:#}");
    let names: Vec<_> = rules(&show(&stage)).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["web", "seven", "nine"]);
    drop((service, flood));
}

#[test]
fn killed_it_leaves_a_rule_that_ends_by_itself() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let (service, flood) = (service(&stage), reflection(&stage));
    let mut child = detecting(&stage, &["--for", "2s", "--auto", "--hold", "10s"]);
    until_rule(&stage, "the rule stops packets", |rule| rule.is_some_and(|it| packets(it) > 10));
    child.kill().unwrap();
    child.wait().unwrap();
    until_rule(&stage, "its time is over", |rule| rule.is_some_and(|it| it["left_s"] == 0.0));
    // It was not removed, and has no effect: the packets that it stopped pass again.
    let (stopped, passed) =
        (packets(&rule(&stage, RULE).unwrap()), show(&stage)["default"]["packets"].as_u64());
    flood.pass(20);
    let again = || Ok((show(&stage)["default"]["packets"].as_u64() > passed).then_some(()));
    until("the flood passes", PATIENCE, again).unwrap();
    assert_eq!(packets(&rule(&stage, RULE).unwrap()), stopped);
    // The next change removes it.
    stage.run(&["filter", "add", "eth0", "drop udp dport 9", "--name", "nine"]).ended(0);
    let names: Vec<_> = rules(&show(&stage)).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["seven", "nine"]);
    service.pass(5);
    drop((service, flood));
}

#[test]
fn killed_while_it_watches_it_changes_nothing() {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let before = stage.attached();
    let mut child = detecting(&stage, &["--for", "60s"]);
    until("the watching", PATIENCE, || Ok((stage.attached() != before).then_some(()))).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 3);
    let counted = || Ok((rules(&show(&stage))[0].1 == 3).then_some(()));
    until("the rules in force decide", PATIENCE, counted).unwrap();
    stage.run(&["filter", "remove", "eth0", "seven"]).ended(0);
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
}

#[test]
fn others_change_rules_while_it_watches() {
    let stage = Stage::new();
    for is_there in [false, true] {
        let before = stage.attached();
        assert_eq!(!before.is_empty(), is_there);
        let child = detecting(&stage, &["--for", "60s"]);
        until("the watching", PATIENCE, || Ok((stage.attached() != before).then_some(()))).unwrap();
        stage.run(&["filter", "add", "eth0", "drop udp dport 7"]).ended(0);
        let now = stage.attached();
        let report = ended(child, 1);
        assert_eq!(report["ended"], "rules-changed", "{report:#}");
        assert_eq!((stage.attached(), stage.kept()), (now, 1), "{:?}", stage.pins());
    }
    assert_eq!(rules(&show(&stage)).len(), 2);
}

#[test]
fn what_the_operator_wants_is_not_touched() {
    let stage = Stage::new();
    let text = "rules = ['pass from @resolvers']\n[sets]\nresolvers = ['198.18.0.0/15']";
    stage.json(&["filter", "load", "eth0", &file(&stage, "rules.toml", text)]);
    let flood = reflection(&stage);
    let passed = ended(detecting(&stage, &["--for", "1s", "--auto"]), 1);
    assert!(passed["passed"]["pps"].as_f64().unwrap() > 100.0, "{passed:#}");
    assert_eq!(passed["findings"], json!([]));
    // The same without a rule that passes.
    let text = text.replace("'pass from @resolvers'", "'drop udp dport 7 from @resolvers'");
    stage.json(&["filter", "load", "eth0", &file(&stage, "rules.toml", &text)]);
    let allowed = detecting(&stage, &["--for", "1s", "--auto", "--allow", "@resolvers"]);
    assert_eq!(ended(allowed, 1)["findings"], json!([]));
    let others = detecting(&stage, &["--for", "1s", "--allow", "192.0.2.0/24"]);
    let suggested = format!("drop for 1m {SUGGESTED} from not 192.0.2.0/24");
    assert_eq!(ended(others, 0)["findings"][0]["rule"], suggested);
    // Collateral over the limit: reported, not loaded.
    let strict = detecting(&stage, &["--for", "1s", "--auto", "--max-collateral", "0.001%"]);
    assert_eq!(ended(strict, 0)["findings"][0]["applied"], Value::Null);
    assert_eq!(rules(&show(&stage)).len(), 1);
    drop(flood);
    let text = stage.run(&["filter", "detect", "eth0", "--allow", "@nobody"]).error();
    assert!(text.contains("`@nobody` is not a source that can be allowed"), "{text}");
}
