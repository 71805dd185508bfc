//! `xway daemon`: metrics of all interfaces, and declarations applied when interfaces appear.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lab::until;
use serde_json::Value;
use sys::net::{NewVeth, VethEnd};
use xway_tests::background::reflection;
use xway_tests::filter::{rules, show};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::prebuilt;

/// Until an observation of a busy machine has led to a rule, perhaps only the second one.
const LOG_PATIENCE: Duration = Duration::from_secs(60);

/// A daemon that runs on host `b`, with its log.
struct Daemon<'s> {
    stage: &'s Stage,
    child: Child,
    log: Arc<Mutex<String>>,
    port: u16,
}

impl<'s> Daemon<'s> {
    fn start(stage: &'s Stage, words: &[&str]) -> Self {
        let words = [&["daemon", "--listen", "127.0.0.1:0"], words].concat();
        let mut command = stage.xway.command_in(&stage.net.b, &words);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, kept) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        let mut daemon = Self { stage, child, log, port: 0 };
        let address = daemon.logs("metrics at http://127.0.0.1:");
        let port = address.split_once("127.0.0.1:").unwrap().1.split('/').next().unwrap();
        daemon.port = port.parse().unwrap();
        daemon
    }

    /// Waits for a line of the log.
    #[track_caller]
    fn logs(&self, part: &str) -> String {
        let line = || {
            let log = self.log.lock().unwrap();
            Ok(log.lines().find(|line| line.contains(part)).map(str::to_owned))
        };
        until("a line of the log", LOG_PATIENCE, line)
            .unwrap_or_else(|error| panic!("{part}: {error}: {}", self.log.lock().unwrap()))
    }

    /// Sends a request, and returns the whole answer.
    fn request(&self, request: &str) -> String {
        let connect = || TcpStream::connect(("127.0.0.1", self.port));
        let mut stream = self.stage.net.b.run(connect).unwrap().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn scrape(&self) -> String {
        self.request("GET /metrics HTTP/1.1\r\n\r\n")
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// The line of `/proc/PID/status` that begins so.
    fn status(&self, key: &str) -> String {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim_start_matches(':').trim().to_owned()
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// A directory with a declared filter on `interface`.
fn declared(stage: &Stage, interface: &str, rules: &str) -> PathBuf {
    let dir = stage.xway.state().join("etc");
    fs::create_dir_all(dir.join("rules")).unwrap();
    let text = format!("interface = '{interface}'\n[[program]]\nfilter = 'rules/a.toml'\n");
    fs::write(dir.join("a.toml"), text).unwrap();
    fs::write(dir.join("rules/a.toml"), rules).unwrap();
    dir
}

#[test]
fn interfaces_are_as_declared_when_they_appear_and_after_a_reload() {
    let stage = Stage::new();
    let dir = declared(&stage, "late0", "rules = ['first: drop udp dport 9']\n");
    let daemon = Daemon::start(&stage, &[dir.to_str().unwrap()]);
    let mut netlink = stage.net.b.netlink().unwrap();
    let [here, there] = ["late0", "late1"].map(|name| VethEnd { name, mac: None, netns: None });
    netlink.create_veth(&NewVeth { ends: [here, there], queues: 1, mtu: 1500 }).unwrap();
    daemon.logs("late0: attach filter in native mode");
    let names = || {
        let shown = stage.json(&["filter", "show", "late0", "--interval", "1ms"]);
        rules(&shown).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["first"]);
    assert!(daemon.scrape().contains("xway_declaration_applied{declared=\"late0\"} 1"));

    declared(&stage, "late0", "rules = ['second: drop udp dport 9']\n");
    daemon.signal("HUP");
    daemon.logs("late0: change the rules");
    assert_eq!(names(), ["second"]);

    declared(&stage, "late0", "rules = ['third: drop udp dprot 9']\n");
    daemon.signal("HUP");
    daemon.logs("did you mean `dport`?");
    assert_eq!(names(), ["second"]);
    let page = daemon.scrape();
    assert!(page.contains("xway_declaration_applied{declared=\"a.toml\"} 0"), "{page}");
}

#[test]
fn a_directory_that_does_not_exist_yet_is_waited_for() {
    let stage = Stage::new();
    let dir = stage.xway.state().join("later");
    let daemon = Daemon::start(&stage, &[dir.to_str().unwrap()]);
    daemon.logs("nothing is declared: there is no directory ");
    fs::rename(declared(&stage, "eth0", "rules = ['first: drop udp dport 9']\n"), &dir).unwrap();
    daemon.logs("eth0: attach filter in native mode");
    assert!(!daemon.log.lock().unwrap().contains("were not applied"));
}

/// Each metric of the dashboard is on the page, or is one of those that appear with a declaration,
/// a detection or an unconfirmed change.
#[test]
fn the_dashboard_shows_metrics_that_exist() {
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../dist/grafana/xway.json")).unwrap();
    let text = dashboard.to_string();
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let names: BTreeSet<_> = text
        .match_indices("xway_")
        .map(|(at, _)| text[at..].split(|letter| !is_name(letter)).next().unwrap())
        .collect();
    assert!(names.len() > 12, "{names:?}");
    let stage = Stage::new();
    let path = stage.xway.state().join("rules.toml");
    fs::write(&path, "rules = ['a: limit 10pps per source udp']\n").unwrap();
    stage.run(&["filter", "load", "eth0", path.to_str().unwrap()]).ended(0);
    let page = Daemon::start(&stage, &["--no-apply"]).scrape();
    let later =
        ["xway_declaration_applied", "xway_detect_active_rules", "xway_unconfirmed_seconds"];
    for name in names.iter().filter(|name| !later.contains(name)) {
        assert!(page.lines().any(|line| line.starts_with(name)), "{name}: {page}");
    }
}

#[test]
fn all_interfaces_are_on_the_page_in_both_formats() {
    let stage = Stage::new();
    let path = stage.xway.state().join("rules.toml");
    fs::write(&path, "rules = ['a: drop udp dport 9']\n").unwrap();
    stage.run(&["filter", "load", "eth0", path.to_str().unwrap()]).ended(0);
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 3);
    let daemon = Daemon::start(&stage, &["--no-apply"]);
    let counted = "xway_filter_rule_packets_total{interface=\"eth0\",rule=\"a\"} 3\n";
    until("the packets are counted", PATIENCE, || {
        Ok(daemon.scrape().contains(counted).then_some(()))
    })
    .unwrap();
    let page = daemon.scrape();
    for line in [
        "# TYPE xway_program_packets_total counter\n",
        "interface=\"eth0\",program=\"xway_filter\",verdict=\"drop\"} 3\n",
        "xway_interface_up{interface=\"lo\"} ",
        "xway_reading_complete 1.0\n",
        "xway_build_info{version=\"",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    assert!(page.contains("text/plain; version=0.0.4") && !page.contains("# EOF"), "{page}");
    let accept = "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n";
    let page = daemon.request(accept);
    assert!(page.ends_with("# EOF\n") && page.contains("# TYPE xway_program_packets counter"));
    assert!(daemon.request("HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
    assert!(daemon.request("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));

    fs::write(&path, "rules = ['b: drop udp dport 9']\n").unwrap();
    stage.run(&["filter", "load", "eth0", path.to_str().unwrap(), "--confirm", "1h"]).ended(0);
    let page = daemon.scrape();
    assert!(page.contains("xway_unconfirmed_seconds{interface=\"eth0\""), "{page}");
}

#[test]
fn it_keeps_the_rights_that_it_needs_and_no_others() {
    let stage = Stage::new();
    let dir = declared(&stage, "eth0", "rules = ['a: drop udp dport 9']\n");
    // CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF; without declarations, no CAP_PERFMON.
    for (words, caps) in
        [(&[dir.to_str().unwrap()][..], "000000c000001000"), (&["--no-apply"], "0000008000001000")]
    {
        let daemon = Daemon::start(&stage, words);
        if words != ["--no-apply"] {
            daemon.logs("eth0: attach filter");
        }
        daemon.scrape();
        assert_eq!([daemon.status("CapEff"), daemon.status("CapBnd")], [caps; 2], "{words:?}");
        assert_eq!([daemon.status("NoNewPrivs"), daemon.status("Seccomp")], ["1", "2"]);
    }
    assert_eq!(rules(&show(&stage)).len(), 1, "it was applied with these rights");
}

#[test]
fn a_second_daemon_is_refused_and_a_killed_one_changes_nothing() {
    let stage = Stage::new();
    let dir = declared(&stage, "eth0", "rules = ['a: drop udp dport 9']\n");
    let dir = dir.to_str().unwrap();
    let mut daemon = Daemon::start(&stage, &[dir]);
    daemon.logs("eth0: attach filter");
    let error = stage.run(&["daemon", dir, "--no-metrics"]).error();
    assert!(error.contains("another daemon uses this state directory"), "{error}");
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 2);
    let counted = || Ok((rules(&show(&stage)) == [("a".to_owned(), 2)]).then_some(()));
    until("the filter counts without a daemon", PATIENCE, counted).unwrap();
    let mut again = Daemon::start(&stage, &[dir]);
    again.signal("TERM");
    let status = again.child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(rules(&show(&stage)), [("a".to_owned(), 2)], "stopping detaches nothing");
}

/// A declared filter on `eth0` with these rules, and this detection.
fn detecting(stage: &Stage, rules: &str, detect: &str) -> PathBuf {
    let dir = declared(stage, "eth0", rules);
    let text = fs::read_to_string(dir.join("a.toml")).unwrap();
    fs::write(dir.join("a.toml"), format!("{text}detect = {{ {detect} }}\n")).unwrap();
    dir
}

fn names(stage: &Stage) -> Vec<String> {
    rules(&show(stage)).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_flood_is_stopped_while_it_lasts_where_that_is_declared() {
    let stage = Stage::new();
    let declared = "rules = ['seven: drop udp dport 7']\n";
    let detect = "above = '200pps', time = '2s', hold = '6s', max-collateral = '50%'";
    let dir = detecting(&stage, declared, detect);
    let path = dir.to_str().unwrap();
    let daemon = Daemon::start(&stage, &[path]);
    daemon.logs("eth0: attach filter");
    let flood = reflection(&stage);
    daemon.logs("eth0: flood of ");
    assert_eq!(names(&stage), ["seven", "flood-1"]);
    let text = show(&stage)["rules"][1]["text"].as_str().unwrap().to_owned();
    assert_eq!(text, "drop for 6s udp sport 53 to 10.0.0.2");
    let page = daemon.scrape();
    assert!(page.contains("xway_detect_rules_total{interface=\"eth0\"} 1\n"), "{page}");
    assert!(page.contains("xway_detect_active_rules{interface=\"eth0\"} "), "{page}");

    // The rule does not belong to the declaration: nothing is to be changed, and it is not saved.
    stage.run(&["apply", path, "--plan"]).ended(0);
    let saved = stage.xway.state().join("saved");
    stage.run(&["save", saved.to_str().unwrap()]).ended(0);
    let text = fs::read_to_string(saved.join("rules/eth0.toml")).unwrap();
    assert!(text.contains("seven") && !text.contains("flood-1"), "{text}");
    // Other rules are declared: it continues.
    fs::write(dir.join("rules/a.toml"), "rules = ['nine: drop udp dport 9']\n").unwrap();
    daemon.signal("HUP");
    daemon.logs("eth0: change the rules");
    assert_eq!(names(&stage), ["nine", "flood-1"]);

    // It is extended as long as packets match, and removed after them.
    daemon.logs("flood-1 is extended: it drops ");
    assert_eq!(names(&stage), ["nine", "flood-1"]);
    drop(flood);
    daemon.logs("flood-1 expired after ");
    assert_eq!(names(&stage), ["nine"]);
    stage.run(&["apply", path, "--plan"]).ended(0);
}

/// The filter is a member of a chain, which is composed again with the sampler and with its rule.
#[test]
fn a_flood_is_stopped_by_a_filter_between_other_programs() {
    let stage = Stage::new();
    let detect = "above = '200pps', time = '2s', hold = '6s', max-collateral = '50%'";
    let dir = detecting(&stage, "rules = ['seven: drop udp dport 7']\n", detect);
    let seen = prebuilt("test/seen.o");
    let others = format!(
        "[[program]]\ndrop.rules = ['any udp 5']\npriority = 50\n\
         [[program]]\nobject = '{}'\nname = 'last'\n",
        seen.display()
    );
    let text = fs::read_to_string(dir.join("a.toml")).unwrap();
    fs::write(dir.join("a.toml"), format!("{text}{others}")).unwrap();
    let packets = || {
        let members = stage.json(&["chain", "eth0", "show"])["members"].clone();
        let of = |one: &Value| {
            let dropped = one["verdicts"]["drop"].as_u64().unwrap();
            (one["name"].as_str().unwrap().to_owned(), one["packets"].as_u64().unwrap(), dropped)
        };
        members.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let path = dir.to_str().unwrap();
    let daemon = Daemon::start(&stage, &[path]);
    daemon.logs("attach last in native mode");
    let flood = reflection(&stage);
    daemon.logs("eth0: flood of ");
    assert_eq!(names(&stage), ["seven", "flood-1"]);
    let dropped = || Ok((packets()[1].2 > 100).then_some(()));
    until("the rule drops packets", LOG_PATIENCE, dropped).unwrap();
    drop(flood);
    daemon.logs("flood-1 expired after ");
    assert_eq!(names(&stage), ["seven"]);
    // Each member has counted what the one before it passed, whatever was composed meanwhile.
    let (drop, filter, last) = match packets().as_slice() {
        [drop, filter, last] => (drop.clone(), filter.clone(), last.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!([&*drop.0, &*filter.0, &*last.0], ["drop", "filter", "last"]);
    assert_eq!((filter.1, last.1), (drop.1 - drop.2, filter.1 - filter.2));
    stage.run(&["apply", path, "--plan"]).ended(0);
}

#[test]
fn a_daemon_that_is_started_again_continues_with_the_rules_of_a_killed_one() {
    let stage = Stage::new();
    let detect = "above = '200pps', time = '2s', hold = '6s', max-collateral = '50%'";
    let dir = detecting(&stage, "rules = []\n", detect);
    let path = dir.to_str().unwrap();
    let mut daemon = Daemon::start(&stage, &[path]);
    let flood = reflection(&stage);
    daemon.logs("eth0: flood of ");
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    assert_eq!(names(&stage), ["flood-1"]);
    let again = Daemon::start(&stage, &[path]);
    again.logs("flood-1 is extended: it drops ");
    drop(flood);
    again.logs("flood-1 expired after ");
    assert_eq!(names(&stage), Vec::<String>::new());
}
