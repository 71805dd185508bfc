//! `xway lab`: up, entered, removed; a temporary one goes however its command ends.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use sys::netns::{self, NetNs};
use xway_tests::xway::{Answer, Xway};

/// Removes what a failing test would leave.
struct Up<'a> {
    xway: &'a Xway,
    id: String,
}

impl<'a> Up<'a> {
    fn new(xway: &'a Xway, arguments: &[&str]) -> (Self, Value) {
        let arguments = [&["--json", "lab", "up"], arguments].concat();
        let answer = xway.run(&arguments).json(0);
        (Self { xway, id: answer["id"].as_str().unwrap().to_owned() }, answer)
    }

    /// Its entry in `lab list`.
    fn listed(&self) -> Option<Value> {
        let answer = self.xway.run(&["--json", "lab", "list"]).json(0);
        let labs = answer["labs"].as_array().unwrap();
        labs.iter().find(|lab| lab["id"] == self.id.as_str()).cloned()
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        self.xway.run(&["lab", "down", &self.id]);
    }
}

/// Whether a named namespace has this inode, as `/proc/self/ns/net` shows it: `net:[4026532…]`.
fn is_named(link: &str) -> bool {
    let names = netns::names().unwrap();
    let inodes = names.iter().filter_map(|name| Some(NetNs::open(name).ok()?.id().ok()?.inode));
    inodes.into_iter().any(|inode| link == format!("net:[{inode}]"))
}

#[test]
fn a_lab_remains_until_it_is_removed() {
    let xway = Xway::new();
    let (up, answer) = Up::new(&xway, &["router", "--queues", "2", "--mtu", "9000"]);
    assert_eq!(answer["topology"], "router");
    let names: Vec<_> = answer["hosts"].as_array().unwrap().iter().map(|h| &h["name"]).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let listed = up.listed().unwrap();
    assert_eq!(listed["kept"], true);
    let interface = &listed["hosts"][0]["interfaces"][0];
    assert_eq!((&interface["name"], &interface["mtu"]), (&"eth0".into(), &9000.into()));
    assert_eq!(interface["queues"], 2);
    assert!(interface["addresses"].to_string().contains("10.0."), "{interface}");

    let links = xway.run(&["lab", "run", &up.id, "b", "ip", "-br", "link"]).ended(0);
    assert!(links.contains("eth0") && links.contains("eth1"), "{links}");
    xway.run(&["lab", "down", &up.id]).ended(0);
    assert!(up.listed().is_none());
    let text = xway.run(&["lab", "down", &up.id]).error();
    assert!(text.contains("no lab is named"), "{text}");
}

#[test]
fn exit_codes_of_commands_are_passed_on() {
    let xway = Xway::new();
    let (up, _) = Up::new(&xway, &["two-hosts"]);
    let table: &[(&[&str], i32)] = &[
        (&["true"], 0),
        (&["false"], 1),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -9 $$"], 137),
    ];
    for (command, code) in table {
        let arguments = [&["lab", "run", &up.id, "a"], *command].concat();
        assert_eq!(xway.run(&arguments).code, *code, "{command:?}");
    }
    let wrong: &[(&[&str], &str)] = &[
        (&["lab", "run", &up.id, "z", "true"], "has no host `z`"),
        (&["lab", "run", "none", "a", "true"], "no lab is named `none`"),
        (&["lab", "run", &up.id, "a", "no-such-command"], "no-such-command"),
    ];
    for (arguments, part) in wrong {
        let text = xway.run(arguments).error();
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_topology_is_a_lab_for_one_command() {
    let xway = Xway::new();
    let script = "readlink /proc/self/ns/net; exit 3";
    let place = xway.run(&["lab", "run", "two-hosts", "a", "sh", "-c", script]).ended(3);
    assert!(place.starts_with("net:["), "{place}");
    assert!(!is_named(place.trim()), "the lab is gone");
}

#[test]
fn a_shell_reads_commands() {
    let xway = Xway::new();
    let mut shell = xway
        .command(&["lab", "shell", "two-hosts", "b"])
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = shell.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"ip -4 -br address show eth0\nexit 5\n").unwrap();
    drop(input);
    let output = shell.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stdout).contains("10.0.0.2/24"));
}

/// A temporary lab whose command prints its name and then waits for its end.
struct Waiting {
    child: Child,
    place: String,
}

impl Waiting {
    fn start(xway: &Xway, script: &str) -> Self {
        let mut child = xway
            .command(&["lab", "run", "two-hosts", "a", "sh", "-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut place = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut place).unwrap();
        Self { child, place: place.trim().to_owned() }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// The exit code.
    fn end(&mut self) -> Option<i32> {
        let patience = Duration::from_secs(20);
        let status = lab::until("the end of xway", patience, || Ok(self.child.try_wait().unwrap()));
        status.unwrap().code()
    }
}

#[test]
fn signals_end_the_command_and_its_lab() {
    for (signal, script) in [
        ("INT", "readlink /proc/self/ns/net; exec sleep 60"),
        ("TERM", "readlink /proc/self/ns/net; exec sleep 60"),
        ("INT", "trap '' INT; readlink /proc/self/ns/net; exec sleep 60"),
    ] {
        let xway = Xway::new();
        let mut waiting = Waiting::start(&xway, script);
        assert!(is_named(&waiting.place), "{}", waiting.place);
        waiting.signal(signal);
        assert_eq!(waiting.end(), Some(137), "{signal}: {script}");
        assert!(!is_named(&waiting.place), "{signal}: the lab is gone");
    }
}

#[test]
fn what_a_killed_run_left_is_collected() {
    let xway = Xway::new();
    let mut waiting = Waiting::start(&xway, "readlink /proc/self/ns/net; exec sleep 60");
    waiting.signal("KILL");
    waiting.child.wait().unwrap();
    xway.run(&["lab", "gc"]).ended(0);
    assert!(!is_named(&waiting.place));
}

/// The words that a script printed, run in a lab by root on behalf of `nobody`, as by sudo.
fn by_sudo(xway: &Xway, options: &[&str], script: &str) -> Vec<String> {
    let words = [&["lab", "run"], options, &["two-hosts", "a", "sh", "-c", script]].concat();
    let mut command = xway.command(&words);
    command.env("SUDO_UID", NOBODY).env("SUDO_GID", NOBODY).env("SUDO_USER", "nobody");
    let text = Answer::of(command.output().unwrap()).ended(0);
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_command_started_by_sudo_runs_as_the_caller() {
    let xway = Xway::new();
    let script = "id -u; id -ru; id -g; id -G; \
                  awk '/^Cap(Eff|Prm|Amb)/ {print $2}' /proc/self/status; \
                  echo $USER; ip link set lo down 2>/dev/null && echo changed; \
                  ls /sys/class/net";
    let none = "0000000000000000";
    let interfaces = ["eth0", "lo"];
    let mut want = vec![NOBODY, NOBODY, NOBODY, NOBODY, none, none, none, "nobody"];
    want.extend(interfaces);
    assert_eq!(by_sudo(&xway, &[], script), want);
    let root = by_sudo(&xway, &["--root"], "id -u; ip link set lo down && echo changed");
    assert_eq!(root, ["0", "changed"]);
}

#[test]
fn a_command_sees_the_sys_of_its_namespace() {
    let xway = Xway::new();
    let words = ["lab", "run", "router", "b", "ls", "/sys/class/net"];
    let text = xway.run(&words).ended(0);
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["eth0", "eth1", "lo"]);
}

/// The user and group `nobody` of most distributions.
const NOBODY: &str = "65534";

#[test]
fn a_lab_that_was_not_kept_is_not_taken_down() {
    let net = lab::TwoHosts::build(&lab::LinkOptions::default()).unwrap();
    let text = Xway::new().run(&["lab", "down", net.lab.id()]).error();
    assert!(text.contains("`xway lab gc`") && text.contains("`--all`"), "{text}");
    assert!(lab::list().unwrap().iter().any(|lab| lab.id == net.lab.id()), "it is still there");
}
