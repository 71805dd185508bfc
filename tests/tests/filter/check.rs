//! `xway filter check`: rules as understood, what is wrong, what is perhaps not meant.

use std::path::PathBuf;

use serde_json::json;
use xway_tests::xway::{Answer, Xway};

const RULES: &str = r#"
default = "drop"
rules = [
  "dns: limit 1000pps per source/24 udp dport dns",
  "drop from @bad",
  "pass tcp dport {22, 80, 1000-2000} from not {10.0.0.0/9, 10.128.0.0/9}",
  "drop payload transport+8 0xffff0000 = 0x12340000",
  "mark 7 icmp type echo-request",
]
[policy]
options = "drop"
[sets]
bad = { file = "bad.txt" }
"#;

fn file(xway: &Xway, name: &str, text: &str) -> PathBuf {
    let path = xway.state().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn rules_are_shown_as_they_are_understood() {
    let xway = Xway::new();
    file(&xway, "bad.txt", "192.0.2.0/24 # known\n2001:db8::1\n192.0.3.0/24\n");
    let path = file(&xway, "rules.toml", RULES);
    let path = path.to_str().unwrap();
    let report = xway.run_powerless(&["--json", "filter", "check", path]).json(0);
    assert_eq!(report["default"], "drop");
    let rules: Vec<_> = report["rules"].as_array().unwrap().iter().map(|it| &it["rule"]).collect();
    assert_eq!(
        rules,
        [
            "limit 1kpps burst 100 per source/24,64 udp dport 53",
            "drop from @bad",
            "pass tcp dport {22, 80, 1000-2000} from not 10.0.0.0/8",
            "drop payload transport+8 0xffff0000 = 0x12340000",
            "mark 0x7 icmp type echo-request",
        ]
    );
    assert_eq!(report["rules"][0]["name"], "dns");
    assert_eq!(report["rules"][1]["name"], "drop-from-bad");
    assert_eq!(
        (&report["rules"][0]["decides"], &report["rules"][1]["decides"]),
        (&json!(false), &json!(true))
    );
    let set = &report["sets"][0];
    assert_eq!((&set["ipv4_ranges"], &set["ipv6_ranges"]), (&json!(1), &json!(1)), "{set}");
    assert!(set["file"].as_str().unwrap().ends_with("/bad.txt"));
    let odd = report["policies"].as_array().unwrap().iter().filter(|one| one["usual"] == false);
    assert_eq!(odd.map(|one| &one["oddity"]).collect::<Vec<_>>(), ["options"]);
    assert!(report["reads"].to_string().contains("transport"));
    let warnings = report["warnings"].as_array().unwrap();
    let texts = warnings.iter().map(|one| one["text"].as_str().unwrap());
    let texts: Vec<_> = texts.filter(|text| !text.contains("SSH session")).collect();
    let kinds = warnings.iter().map(|one| (&one["kind"], &one["rules"]));
    assert!(kinds.clone().all(|(kind, _)| kind == "cut-off"), "{warnings:#?}");
    for (text, what) in texts.iter().zip(["ARP", "neighbor", "TCP", "DNS", "DHCP", "path MTU"]) {
        assert!(text.starts_with("the default drops") && text.contains(what), "{text}");
    }
    assert_eq!(texts.len(), 6);
    assert!(report["program"]["description"].as_str().unwrap().contains("instructions"));

    let text = xway.run_powerless(&["filter", "check", path]).ended(0);
    for part in ["1  dns", "set @bad: 1 IPv4 range, 1 IPv6 range", "policy options", "5 rules, "] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_kernel_is_asked() {
    let xway = Xway::new();
    let path = file(&xway, "rules.toml", "rules = ['drop udp dport 53', 'count']");
    let report = xway.run(&["--json", "filter", "check", path.to_str().unwrap()]).json(0);
    let kernel = &report["program"]["kernel"];
    assert!(kernel["accepted"]["xlated_bytes"].as_u64().unwrap() > 0, "{kernel}");
}

#[test]
fn without_rights_the_kernel_is_not_asked() {
    let xway = Xway::new();
    let path = file(&xway, "rules.toml", "rules = ['drop udp']");
    let path = path.to_str().unwrap();
    let report = xway.run_powerless(&["--json", "filter", "check", path]).json(0);
    assert_eq!(report["program"]["kernel"], json!(null));
    let text = xway.run_powerless(&["filter", "check", path]).ended(0);
    assert!(text.contains("kernel: not checked"), "{text}");
}

#[test]
fn the_session_that_rules_cut_off_is_named() {
    let xway = Xway::new();
    let path = file(&xway, "rules.toml", "default = 'drop'\nrules = ['pass tcp dport 443']");
    let check = |path: &PathBuf| {
        let mut command = xway.command(&["--json", "filter", "check", path.to_str().unwrap()]);
        command.env("SSH_CONNECTION", "203.0.113.9 50000 192.0.2.1 2222");
        let report = Answer::of(command.output().unwrap()).json(0);
        let warnings = report["warnings"].as_array().unwrap().clone();
        let texts = warnings.iter().map(|one| one["text"].as_str().unwrap().to_owned());
        texts.collect::<Vec<_>>()
    };
    let remedy = "pass tcp dport 2222 from 203.0.113.9";
    assert!(check(&path)[0].contains(remedy), "{:?}", check(&path));
    let rules = format!("default = 'drop'\nrules = ['{remedy}', 'pass tcp dport 443']");
    let path = file(&xway, "better.toml", &rules);
    assert!(check(&path).iter().all(|text| !text.contains("SSH")), "{:?}", check(&path));
}

#[test]
fn suspicious_rules_are_warnings_and_not_errors() {
    let xway = Xway::new();
    let rules =
        "rules = ['a: drop udp', 'b: pass udp dport 53', 'c: drop icmp dport 1']\n[sets]\ns = []";
    let path = file(&xway, "rules.toml", rules);
    let path = path.to_str().unwrap();
    let report = xway.run(&["--json", "filter", "check", path]).json(0);
    let warnings = report["warnings"].as_array().unwrap();
    let told: Vec<_> =
        warnings.iter().map(|it| (&it["kind"], &it["rules"], &it["because"])).collect();
    let want = [
        (json!("never-reached"), json!(["b"]), json!(["a"])),
        (json!("never-matches"), json!(["c"]), json!([])),
        (json!("unused-set"), json!([]), json!([])),
    ];
    assert_eq!(told, want.iter().map(|(a, b, c)| (a, b, c)).collect::<Vec<_>>());
    let text = xway.run(&["filter", "check", path]).ended(0);
    assert!(text.contains("rule 2 `b` is never reached: rule 1 `a` decides"), "{text}");
    assert!(text.contains("3 rules, 3 warnings"), "{text}");
}

#[test]
fn all_errors_are_reported_together_with_their_lines() {
    let xway = Xway::new();
    file(&xway, "bad.txt", "192.0.2.1\n10.0.0.1/8\n");
    let rules = "rules = [\n'drop udp dprot 53',\n'pass from 10.1.2.3/16',\n'accept']\n\
                 [polcy]\noptions = 'drop'\n[sets]\nbad = { file = 'bad.txt' }\n";
    let path = file(&xway, "rules.toml", rules);
    let error = xway.run(&["filter", "check", path.to_str().unwrap()]).error();
    for part in [
        "rules.toml:2: rule 1: `dprot`: unknown test; did you mean `dport`?\n",
        "    drop udp dprot 53\n             ^^^^^\n",
        "rules.toml:3: rule 2: `10.1.2.3/16`: host bits are set; did you mean 10.1.0.0/16?",
        "rules.toml:4: rule 3: `accept`: unknown action",
        "did you mean `pass`?",
        "rules.toml:5: `polcy`: ",
        "did you mean `policy`?",
        "bad.txt:2: `10.0.0.1/8`: host bits",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let gone = xway.run(&["filter", "check", "/nowhere/rules.toml"]).error();
    assert!(gone.contains("/nowhere/rules.toml: cannot be read"), "{gone}");
    xway.run(&["filter", "check"]).error();
}

#[test]
fn policies_are_shown_without_a_file() {
    let xway = Xway::new();
    let text = xway.run(&["filter", "check", "--policies"]).ended(0);
    for oddity in ["truncated", "options", "later-fragment", "tunnel"] {
        assert!(text.contains(&format!("policy {oddity} ")), "{oddity}: {text}");
    }
    let report = xway.run(&["--json", "filter", "check", "--policies"]).json(0);
    assert!(report["policies"].as_array().unwrap().iter().all(|one| one["usual"] == true));
    assert_eq!((&report["file"], &report["program"]), (&json!(null), &json!(null)));
}
