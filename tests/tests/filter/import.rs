//! Rules of nft and iptables as people write them: each row of the tables in `docs/filter.md`, and
//! whole files, are imported as stated, or refused with the line and the words that the table has.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use xway_tests::xway::{Answer, Xway};

const PAGE: &str = include_str!("../../../docs/filter.md");

/// What rows refer to.
const AROUND: &str = "table netdev t {\n\
    set bad { type ipv4_addr; flags interval; elements = { 192.0.2.0/24 }; }\n\
    set timed { type ipv4_addr; flags timeout; }\n\
    set seen { type ipv4_addr; flags dynamic; size 100; }\n\
    set seen6 { type ipv6_addr; flags dynamic; size 100; }\n\
    counter hits { }\n\
    chain sub { udp dport 9 drop; }\n\
    chain back { udp dport 7 return; drop; }\n\
    chain in { type filter hook ingress device \"eth0\" priority 0; policy accept;\n";
/// Where a row's rule stands then.
const LINE: usize = 10;

/// Rows below a head: the code in the first cell, and the second cell.
fn rows(head: &str) -> Vec<(String, String)> {
    let (_, rows) = PAGE.split_once(&format!("\n{head}\n|---|---|\n")).expect("a table");
    let rows = rows.lines().take_while(|line| line.starts_with('|'));
    let cells = |row: &str| {
        // A bar inside of a cell has a backslash in front.
        let row = row.replace("\\|", "\u{1}");
        let (left, right) = row.trim_matches('|').split_once('|').unwrap();
        let text = |cell: &str| cell.trim().replace('\u{1}', "|");
        (code(&text(left)).join(""), text(right))
    };
    rows.map(cells).collect()
}

fn code(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn import(xway: &Xway, path: &Path) -> xway_tests::xway::Answer {
    xway.run(&["--json", "filter", "import", "nft", path.to_str().unwrap()])
}

fn written(xway: &Xway, text: &str) -> PathBuf {
    let path = xway.state().join("rules.nft");
    std::fs::write(&path, text).unwrap();
    path
}

/// Bodies of the rules that a file of rules has, as `check` shows them.
fn bodies(xway: &Xway, toml: &str) -> Vec<String> {
    let path = xway.state().join("rules.toml");
    std::fs::write(&path, toml).unwrap();
    let report = xway.run_powerless(&["--json", "filter", "check", path.to_str().unwrap()]).json(0);
    let rules = report["rules"].as_array().unwrap().iter();
    rules.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rows_of_the_page_are_imported() {
    let xway = Xway::new();
    let rows = rows("| nft | here |");
    assert!(rows.len() > 35, "{} rows", rows.len());
    for (rule, here) in rows {
        let path = written(&xway, &format!("{AROUND}{rule}\n}}\n}}\n"));
        let taken = import(&xway, &path).json(0)["text"].as_str().unwrap().to_owned();
        let rules: Vec<_> = code(&here).iter().map(|it| format!("'{it}'")).collect();
        let want = format!("rules = [{}]\n[sets]\nbad = []", rules.join(", "));
        let want = bodies(&xway, &want);
        assert!(!want.is_empty(), "{rule}");
        assert_eq!(bodies(&xway, &taken), want, "{rule}");
    }
}

#[test]
fn rows_of_the_page_are_refused() {
    let xway = Xway::new();
    let rows = rows("| nft | error |");
    assert!(rows.len() > 35, "{} rows", rows.len());
    for (rule, words) in rows {
        // At ingress the kernel follows no connections.
        let around = match rule.starts_with("ct ") {
            true => AROUND.replace("netdev", "inet").replace("ingress device \"eth0\"", "input"),
            false => AROUND.to_owned(),
        };
        let path = written(&xway, &format!("{around}{rule}\n}}\n}}\n"));
        let error = import(&xway, &path).error();
        // A chain that was jumped to has lines of its own.
        let line = if rule == "jump back" { LINE - 2 } else { LINE };
        assert!(error.contains(&words), "{rule}: {error}");
        assert!(error.contains(&format!("line {line}, chain ")), "{rule}: {error}");
    }
}

/// A table of iptables with this rule.
fn saved(rule: &str) -> String {
    format!(
        "*filter\n:INPUT ACCEPT [0:0]\n:sub - [0:0]\n-A INPUT {rule}\n\
         -A sub -p udp -m udp --dport 9 -j DROP\nCOMMIT\n"
    )
}
/// Where the rule stands in it.
const SAVED_LINE: usize = 4;

fn import_saved(xway: &Xway, text: &str, options: &[&str]) -> Answer {
    let path = xway.state().join("saved");
    std::fs::write(&path, text).unwrap();
    let words = ["--json", "filter", "import", "iptables", path.to_str().unwrap()];
    xway.run_powerless(&[&words, options].concat())
}

#[test]
fn rows_of_iptables_are_imported() {
    let xway = Xway::new();
    let rows = rows("| iptables | here |");
    assert!(rows.len() > 15, "{} rows", rows.len());
    for (rule, here) in rows {
        let translated = import_saved(&xway, &saved(&rule), &[]).json(0);
        let want = code(&here).iter().map(|it| format!("'{it}'")).collect::<Vec<_>>().join(", ");
        let want = bodies(&xway, &format!("rules = [{want}]"));
        assert_eq!(bodies(&xway, translated["text"].as_str().unwrap()), want, "{rule}");
    }
}

#[test]
fn rows_of_iptables_are_refused_or_left_out() {
    let xway = Xway::new();
    let rows = rows("| iptables | error |");
    assert!(rows.len() > 15, "{} rows", rows.len());
    for (rule, words) in rows {
        let error = import_saved(&xway, &saved(&rule), &[]).error();
        assert!(error.contains(&words), "{rule}: {error}");
        assert!(error.contains(&format!("line {SAVED_LINE}")), "{rule}: {error}");
        let partial = import_saved(&xway, &saved(&rule), &["--partial"]).json(0);
        let (left_out, nearest) = (&partial["left_out"], &partial["approximations"]);
        let listed = [left_out, nearest].map(|it| it.as_array().unwrap().clone()).concat();
        assert!(!listed.is_empty() && listed[0]["line"] == SAVED_LINE, "{rule}: {partial}");
        // The list is in the file as well, which can be loaded.
        let text = partial["text"].as_str().unwrap();
        assert!(text.starts_with("# "), "{rule}: {text}");
        bodies(&xway, text);
    }
}

/// A server's rules of both families: what is imported, and what an operator has to know about it.
#[test]
fn a_server_is_imported_in_part() {
    let xway = Xway::new();
    let both = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/iptables/both");
    let both = std::fs::read_to_string(both).unwrap();
    let partial = import_saved(&xway, &both, &["--partial"]).json(0);
    let left_out = partial["left_out"].as_array().unwrap();
    let lines: Vec<_> = left_out.iter().map(|one| one["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [14, 19, 35, 40], "{partial}");
    let of_states = partial["approximations"].as_array().unwrap().iter();
    let of_states: Vec<_> = of_states.filter(|one| one["statement"] == "ct state").collect();
    assert_eq!(of_states.len(), 4, "{partial}");
    let text = partial["text"].as_str().unwrap();
    let rules = bodies(&xway, text);
    for rule in
        ["pass ethertype ipv4 udp dport 32768-60999", "pass ethertype ipv6 tcp dport {22, 80, 443}"]
    {
        assert!(rules.iter().any(|it| it == rule), "{rules:?}");
    }
    // Exact rules remain the default.
    let error = import_saved(&xway, &both, &[]).error();
    assert!(error.contains("line 12") && error.contains("--approximate"), "{error}");
    let error = import_saved(&xway, &both, &["--approximate"]).error();
    assert!(error.contains("line 14") && error.contains("-m recent"), "{error}");
}

#[test]
fn nft_rules_are_imported_in_part() {
    let xway = Xway::new();
    let around = AROUND.replace("netdev", "inet").replace("ingress device \"eth0\"", "input");
    let text = format!(
        "{around}ct state established,related accept\nmeta mark 1 drop\ntcp dport 22 accept\n\
         reject\n}}\n}}\n"
    );
    let path = written(&xway, &text);
    let words = ["--json", "filter", "import", "nft", path.to_str().unwrap(), "--partial"];
    let answer = xway.run(&words).json(0);
    assert_eq!(answer["left_out"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["left_out"][0]["line"], LINE + 1, "{answer}");
    let nearest: Vec<_> = answer["approximations"].as_array().unwrap().iter().collect();
    let places: Vec<_> = nearest.iter().map(|one| (&one["line"], &one["statement"])).collect();
    assert_eq!(
        places,
        [(&json!(LINE), &json!("ct state")), (&json!(LINE + 3), &json!("reject"))],
        "{answer}"
    );
    let rules = bodies(&xway, answer["text"].as_str().unwrap());
    assert_eq!(rules.last().map(String::as_str), Some("drop ethertype {ipv4, ipv6}"), "{rules:?}");
}

/// The first line of each file has the expected result.
#[test]
fn files_are_imported_or_refused_with_their_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("nft");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 12, "{files:?}");
    let xway = Xway::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let head = text.lines().next().unwrap().trim_start_matches("# ").to_owned();
        let (place, words) = head.split_once(": ").unwrap();
        let answer = import(&xway, &path);
        if place == "imported" {
            let (rules, default) = words.split_once(" rules, ").unwrap();
            let taken: Value = answer.json(0);
            assert_eq!(taken["rules"].to_string(), rules, "{path:?}: {taken}");
            let toml = taken["text"].as_str().unwrap();
            assert!(toml.starts_with(&format!("default = \"{default}\"")), "{path:?}: {toml}");
            bodies(&xway, toml);
        } else {
            let error = answer.error();
            let place = if place == "line none" { "" } else { place };
            assert!(error.contains(place) && error.contains(words), "{path:?}: {error}");
        }
    }
}

/// A device without end stands for a text that is too long.
#[test]
fn text_without_end_is_refused() {
    let xway = Xway::new();
    let commands: [&[&str]; 4] = [
        &["filter", "import", "flowspec", "/dev/zero"],
        &["filter", "import", "flowspec", "-"],
        &["filter", "import", "nft", "-"],
        &["gen", "/dev/zero", "--dry-run", "--write", "/dev/null"],
    ];
    for words in commands {
        let mut command = xway.command(words);
        command.stdin(std::fs::File::open("/dev/zero").unwrap());
        let error = Answer::of(command.output().unwrap()).error();
        assert!(
            error.contains("268435456 bytes") && error.contains("split it"),
            "{words:?}: {error}"
        );
    }
}

/// Text cannot make nft read files, nor is it given to nft by a process with rights to parse it.
#[test]
fn nft_reads_no_other_files() {
    let xway = Xway::new();
    let secret = xway.state().join("secret.nft");
    std::fs::write(&secret, "table netdev secret { }\n").unwrap();
    let request = |text: &str| {
        let request = json!({"devices": [], "text": text}).to_string();
        let mut command = xway.command(&["filter", "nft-helper"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
        let answer = Answer::of(child.wait_with_output().unwrap());
        serde_json::from_str::<Value>(&answer.ended(0)).unwrap()
    };
    let listing = request("table netdev t { }");
    assert!(listing["listing"].as_str().unwrap().contains("netdev"), "{listing}");
    // The parser refuses `include`; a parser that was taken over would not.
    let refused = request(&format!("include \"{}\"\n", secret.display()));
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("nft:")), "{refused}");
}
