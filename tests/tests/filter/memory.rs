//! The memory of a filter's maps: reported as the kernel counts it; if it is not available nothing
//! is loaded and the old rules remain.

use std::fs;
use std::path::{Path, PathBuf};

use filter::{Environment, File, PROGRAM, compile};
use kernel::{LoadOptions, Object};
use serde_json::Value;
use spec::{MapDef, MapKind, Spec};
use std::os::fd::{AsFd, AsRawFd};
use xway_tests::filter::{file, load, show};
use xway_tests::stage::Stage;

/// One of each kind of map that a filter has, and of all sizes.
const RULES: &str = "rules = [
  'count udp dport 9',
  'sample 1/10 udp dport 1-5',
  'limit 10pps per source udp dport 53',
  'limit 1mbps per flow tcp',
  'ban 60s tcp dport 23',
  'redirect cpu 0 udp dport 1000',
  'synproxy tcp dport 80',
  'bad: drop from @bad',
]
[sets]
bad = ['192.0.2.0/24', '198.51.100.7', '2001:db8::/32']
";

fn compiled(text: &str) -> Spec {
    let file = File::parse("rules", text, Path::new(""), |_| Err(String::new())).unwrap();
    compile(&file.ruleset, &Environment::default()).unwrap().spec
}

/// The memory that the kernel charges for a map.
fn charged(map: &kernel::Map) -> u64 {
    let info = format!("/proc/self/fdinfo/{}", map.as_fd().as_raw_fd());
    let text = fs::read_to_string(info).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("memlock:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn the_kernel_charges_the_reported_memory() {
    let spec = compiled(RULES);
    let programs = Some(vec![PROGRAM.to_owned()]);
    let object = Object::load(&spec, &LoadOptions { programs, ..LoadOptions::default() }).unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    for def in &spec.maps {
        let (reported, is) =
            (kernel::memory(def).unwrap(), charged(object.map(&def.name).unwrap()));
        // Heads differ between kernels; a page for what is rounded.
        let near = is / 20 + 4096;
        assert!(reported.abs_diff(is) <= near, "{}: {reported} reported, {is} charged", def.name);
        kinds.insert(def.kind);
    }
    assert!(kinds.len() >= 8, "{kinds:?}");
}

/// More than the machine has.
#[test]
fn the_kernels_own_refusal_names_the_map() {
    const VALUE: u32 = 1 << 20;
    let total = fs::read_to_string("/proc/meminfo").unwrap();
    let total = total.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
    let kilobytes: u32 = total.trim().trim_end_matches(" kB").trim().parse().unwrap();
    let map = MapDef {
        name: "enormous".to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: VALUE,
        max_entries: kilobytes / (VALUE >> 10) * 2,
        ..MapDef::default()
    };
    let spec = Spec { maps: vec![map], ..Spec::default() };
    let reported = Object::load(&spec, &LoadOptions::default()).unwrap_err().to_string();
    assert!(reported.contains("map `enormous` takes") && reported.contains("ENOMEM"), "{reported}");
    assert!(reported.contains("raise the limit"), "{reported}");
}

/// 256 KiB of buckets for each of `rules` rules.
fn many_limits(rules: usize) -> String {
    let rules = (1..=rules).map(|port| format!("'limit 10pps per flow udp dport {port}'"));
    format!("rules = [{}]", rules.collect::<Vec<_>>().join(",\n"))
}

fn bytes(memory: &Value, name: &str) -> u64 {
    let maps = memory["maps"].as_array().unwrap();
    let map = maps.iter().find(|map| map["name"] == name);
    map.unwrap_or_else(|| panic!("{memory:#}"))["bytes"].as_u64().unwrap()
}

#[test]
fn a_limit_is_reported_by_check_and_load() {
    let stage = Stage::new();
    let rules = file(&stage, "many.toml", &many_limits(8));
    let checked = stage.json(&["filter", "check", &rules]);
    let memory = &checked["program"]["memory"];
    let lines = bytes(memory, "filter_lines");
    assert!(lines >= 8 * (256 << 10), "{memory:#}");
    let sum: u64 =
        memory["maps"].as_array().unwrap().iter().map(|map| map["bytes"].as_u64().unwrap()).sum();
    assert_eq!(memory["bytes"], sum);
    assert_eq!(checked["program"]["too_much"], Value::Null);

    let answer = stage.run(&["--json", "filter", "check", &rules, "--memory", "1MiB"]).json(1);
    let reported = answer["program"]["too_much"].as_str().unwrap();
    assert!(
        reported.contains("--memory (1.0 MiB)") && reported.contains("filter_lines"),
        "{reported}"
    );
    assert_eq!(answer["program"]["kernel"], Value::Null, "it was not asked");
    let text = stage.run(&["filter", "check", &rules, "--memory", "1MiB"]).ended(1);
    assert!(text.contains("memory limit exceeded: the maps take"), "{text}");

    load(&stage, &["seven: drop udp dport 7"]);
    let before = (stage.attached(), stage.pins());
    let words = ["filter", "load", "eth0", &rules, "--memory", "1MiB"];
    let reported = stage.run(&words).error();
    assert!(
        reported.contains("the rules were not loaded") && reported.contains("1.0 MiB"),
        "{reported}"
    );
    assert_eq!((stage.attached(), stage.pins()), before);
    let words = ["filter", "add", "eth0", "limit 10pps per flow tcp", "--memory", "64KiB"];
    assert!(stage.run(&words).error().contains("--memory"));

    let reported = stage.json(&["filter", "load", "eth0", &rules, "--memory", "16MiB"]);
    assert!(bytes(&reported["memory"], "filter_lines") == lines, "{reported:#}");
    // The same rules again: buckets are those that are there.
    let reported = stage.json(&["filter", "load", "eth0", &rules, "--memory", "2MiB"]);
    assert!(reported["memory"]["bytes"].as_u64().unwrap() < lines, "{reported:#}");
    assert!(stage.run(&["filter", "check", &rules, "--memory", "much"]).error().contains("16MiB"));
}

/// A control group for memory, of either version.
struct Group(PathBuf);

impl Group {
    /// `None` where this host has none.
    fn new(bytes: u64) -> Option<Self> {
        let name = format!("xway-test-{}", std::process::id());
        let roots = [
            ("/sys/fs/cgroup", "cgroup.subtree_control", "memory.max"),
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.limit_in_bytes"),
        ];
        let has = |(root, file, _): &&(&str, &str, &str)| {
            let text = fs::read_to_string(Path::new(root).join(file));
            text.is_ok_and(|text| *file != "cgroup.subtree_control" || text.contains("memory"))
        };
        let (root, _, limit) = roots.iter().find(has)?;
        let group = Self(Path::new(root).join(name));
        fs::create_dir(&group.0).unwrap();
        fs::write(group.0.join(limit), bytes.to_string()).unwrap();
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_control_group_that_is_too_small_is_named() {
    const SMALL: u64 = 48 << 20;
    let Some(group) = Group::new(SMALL) else {
        eprintln!("skipped: no control groups for memory here");
        return;
    };
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let before = (stage.attached(), stage.pins());
    let rules = file(&stage, "many.toml", &many_limits(200));
    let program = stage.xway.command(&[]);
    let program = program.get_program().to_str().unwrap();
    let run = |words: &[&str]| {
        let mut command = stage.net.b.command("sh").unwrap();
        command.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]).arg(&group.0);
        command.args([program, "--state", stage.xway.state().to_str().unwrap()]).args(words);
        xway_tests::xway::Answer::of(command.output().unwrap())
    };
    let reported = run(&["filter", "load", "eth0", &rules]).error();
    let name = group.0.to_str().unwrap();
    assert!(reported.contains(name) && reported.contains("filter_lines 50.0 MiB"), "{reported}");
    assert!(reported.contains("the rules were not loaded"), "{reported}");
    assert_eq!((stage.attached(), stage.pins()), before);
    let checked = run(&["--json", "filter", "check", &rules]).json(1);
    assert!(checked["program"]["too_much"].as_str().unwrap().contains(name), "{checked:#}");
    // Rules that fit are loaded.
    let rules = file(&stage, "few.toml", &many_limits(8));
    run(&["filter", "load", "eth0", &rules]).ended(0);
    assert_eq!(show(&stage)["rules"].as_array().unwrap().len(), 8);
}
