//! Rules changed under a flood, and by writers that are killed or run at the same time: every
//! packet is judged by one set of rules and counted once.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use control::Control;
use control::filter::active::ActiveFilter;

use lab::{LinkOptions, until};
use serde_json::Value;
use xway_tests::filter::{file, load, rules, sampling, show, total};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::Answer;

const PORT: u16 = 4242;
/// Packets between two changes.
const STEP: u64 = 300;
const RELOADS: usize = 8;

/// Frames for the rule `flood` out of `a`, until it is stopped.
struct Flood(Child);

impl Flood {
    fn start(stage: &Stage) -> Self {
        let to = format!("{}:{PORT}", stage.net.b.ipv4("eth0").unwrap());
        let words =
            ["--json", "gen", "udp", &to, "--dev", "eth0", "--rate", "30kpps", "--allow-miss"];
        let words = [&words[..], &["--time", "2m", "--no-stamp"]].concat();
        let mut command = stage.xway.command_in(&stage.net.a, &words);
        Self(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Waits until some more have met the active rules.
    fn pass(stage: &Stage) {
        let goal = count(&show(stage)) + STEP;
        let passed = || Ok((count(&show(stage)) >= goal).then_some(()));
        until("more of the flood", PATIENCE, passed).unwrap();
    }

    /// Ends it; answers how many were sent.
    fn stop(self) -> u64 {
        let interrupted =
            Command::new("kill").args(["-INT", &self.0.id().to_string()]).status().unwrap();
        assert!(interrupted.success());
        let answer = Answer::of(self.0.wait_with_output().unwrap());
        answer.json(0)["sent"].as_u64().unwrap()
    }
}

fn flooded() -> Stage {
    let stage = Stage::with(&LinkOptions { gro: true, ..LinkOptions::default() });
    // There are no other senders than the flood.
    stage.net.b.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
    stage
}

/// Files of rules that all count the flood's packets with a rule `flood`, and differ otherwise.
fn files(stage: &Stage) -> [String; 3] {
    let flood = format!("flood: drop udp dport {PORT}");
    let texts = [
        format!("rules = ['{flood}']"),
        format!("rules = ['other: drop tcp', '{flood}', 'limit: limit 1000pps udp']"),
        format!("default = 'drop'\nrules = ['many: drop udp dport 5000-6000', '{flood}']"),
    ];
    let mut number = 0;
    texts.map(|text| {
        number += 1;
        file(stage, &format!("rules-{number}.toml"), &text)
    })
}

/// Packets of the rule `flood`.
fn count(shown: &Value) -> u64 {
    rules(shown).iter().find(|(name, _)| name == "flood").map_or(0, |(_, packets)| *packets)
}

/// What `flood` counted, once all packets were.
fn flood(stage: &Stage, sent: u64) -> (u64, Value) {
    let mut last = Value::Null;
    let _late = until("all packets counted", PATIENCE, || {
        last = show(stage);
        Ok((count(&last) >= sent).then_some(()))
    });
    (count(&last), last)
}

#[test]
fn a_reload_loses_and_doubles_nothing() {
    let stage = flooded();
    let files = files(&stage);
    stage.run(&["filter", "load", "eth0", &files[0]]).ended(0);
    let traffic = Flood::start(&stage);
    let mut programs = vec![stage.attached()];
    for round in 1..=RELOADS {
        Flood::pass(&stage);
        stage.run(&["filter", "load", "eth0", &files[round % files.len()]]).ended(0);
        programs.push(stage.attached());
    }
    Flood::pass(&stage);
    let sent = traffic.stop();
    let (counted, shown) = flood(&stage, sent);
    assert_eq!(counted, sent, "{shown:#}");
    assert_eq!(total(&shown), sent, "each packet has one verdict, for one reason: {shown:#}");
    programs.dedup();
    assert_eq!(programs.len(), RELOADS + 1, "each change was a program of its own");
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
}

/// Ten thousand rules, the last of which drops the flood; a limit whose buckets go over, and one
/// that changes.
fn many(stage: &Stage, name: &str, changed: &str) -> String {
    let first =
        ["kept: limit 5kpps burst 500 per source udp".to_owned(), format!("changed: {changed}")];
    let network = |number: u32| format!("172.{}.{}.0/28", 16 + number % 16, number / 16 % 256);
    let other =
        |number: u32| format!("n{number}: drop from {} udp dport {}", network(number), number);
    let last = format!("flood: drop udp dport {PORT}");
    let rules = first.into_iter().chain((3..10_000).map(other)).chain([last]);
    let rules: Vec<_> = rules.map(|rule| format!("'{rule}'")).collect();
    assert_eq!(rules.len(), 10_000);
    file(stage, name, &format!("rules = [{}]", rules.join(",\n")))
}

/// What a rule's action took.
fn taken(shown: &Value) -> u64 {
    let all = shown["rules"].as_array().unwrap().iter();
    all.map(|rule| rule["taken"].as_u64().unwrap()).sum()
}

#[test]
fn ten_thousand_rules_take_the_place_of_as_many_and_lose_nothing() {
    let stage = flooded();
    let before = many(&stage, "before.toml", "limit 1mpps udp");
    let after = many(&stage, "after.toml", "limit 2mpps udp");
    stage.run(&["filter", "load", "eth0", &before]).ended(0);
    let traffic = Flood::start(&stage);
    Flood::pass(&stage);
    let (program, met) = (stage.attached(), count(&show(&stage)));
    stage.run(&["filter", "load", "eth0", &after]).ended(0);
    assert_ne!(stage.attached(), program);
    let shown = show(&stage);
    assert!(count(&shown) > met, "the flood went on, and is counted on");
    Flood::pass(&stage);
    let sent = traffic.stop();
    let mut last = shown;
    let _late = until("all packets counted", PATIENCE, || {
        last = show(&stage);
        Ok((total(&last) >= sent).then_some(()))
    });
    assert_eq!(total(&last), sent, "each packet has one verdict, for one reason");
    assert_eq!(count(&last) + taken(&last), sent, "over the limit or dropped by the last rule");
    assert!(taken(&last) > 0 && count(&last) > 0, "{} {}", taken(&last), count(&last));
    let undecided = &last["default"]["packets"];
    assert_eq!(undecided, 0, "no packet met no rules, or half of them");
}

#[test]
fn killed_in_the_middle_of_a_change_nothing_is_lost() {
    // Kills at increasing delays from the start of a change to its end, however long it takes here:
    // the last change is one that was not killed.
    const STEPS: u32 = 10;
    const MOST: u32 = 10 * STEPS;
    let stage = flooded();
    let files = files(&stage);
    stage.run(&["filter", "load", "eth0", &files[0]]).ended(0);
    let traffic = Flood::start(&stage);
    let start = Instant::now();
    stage.run(&["filter", "load", "eth0", &files[1]]).ended(0);
    println!("a change under the flood: {:?}", start.elapsed());
    let step = start.elapsed() / STEPS;
    let (mut killed, mut swapped) = (0, 0);
    for round in 0..MOST {
        Flood::pass(&stage);
        let before = stage.attached();
        let load = ["filter", "load", "eth0", &files[round as usize % files.len()]];
        let was_killed = stage.kill_after(&load, step * round);
        killed += u32::from(was_killed);
        swapped += u32::from(stage.attached() != before);
        // Rules, program and counters belong together, whichever process was killed.
        let shown = show(&stage);
        assert!(rules(&shown).iter().any(|(name, _)| name == "flood"), "round {round}: {shown}");
        if !was_killed {
            break;
        }
    }
    let sent = traffic.stop();
    let (counted, shown) = flood(&stage, sent);
    assert_eq!(counted, sent, "{killed} killed, {swapped} swapped: {shown:#}");
    assert!(killed > 0 && swapped > 0, "{killed} killed, {swapped} swapped");
    // The next that writes leaves one generation, whose counts are all there still.
    stage.run(&["detach", "lo"]).ended(1);
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
    assert_eq!(flood(&stage, sent).0, sent);
}

#[test]
fn two_in_parallel_wait_for_each_other() {
    let stage = Stage::new();
    load(&stage, &["drop udp dport 1"]);
    let spawn = |port: u16| {
        let rule = format!("drop udp dport {port}");
        let words = ["filter", "add", "eth0", &rule];
        let mut command = stage.xway.command_in(&stage.net.b, &words);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (2..6).map(spawn).collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    assert_eq!(rules(&show(&stage)).len(), 5, "no change was lost");
}

/// How much is kept of a packet that a rule samples: a global's value.
fn sampled(stage: &Stage) -> usize {
    let capture = stage.xway.state().join("sampled.pcapng");
    let child = sampling(stage, &["--count", "1", "--for", "10s"], &capture);
    stage.send(&stage.flow(7).udp(&[7; 100]).unwrap(), 1);
    Answer::of(child.wait_with_output().unwrap()).ended(0);
    let mut reader = pcap::Reader::new(std::fs::File::open(&capture).unwrap()).unwrap();
    let mut packet = pcap::Packet::default();
    assert!(reader.next_into(&mut packet).unwrap());
    packet.data.len()
}

#[test]
fn globals_that_were_given_hold_under_later_rules() {
    let stage = Stage::new();
    let rules = file(&stage, "rules.toml", "rules = ['all: sample 1/1 udp']");
    let load = ["filter", "load", "eth0", &rules];
    stage.run(&[&load[..], &["--set", "filter_sample_bytes=20"]].concat()).ended(0);
    assert_eq!(sampled(&stage), 20);
    let steps: [(&[&str], usize); 6] = [
        (&["add", "eth0", "drop udp dport 9", "--name", "nine"], 20),
        (&["remove", "eth0", "nine"], 20),
        (&["ban", "eth0", "192.0.2.1"], 20),
        (&["add", "eth0", "drop udp dport 9", "--set", "filter_sample_bytes=30"], 30),
        (&["remove", "eth0", "drop-udp-dport-9"], 30),
        // The rules of a file begin anew.
        (&["load", "eth0", &rules], 128),
    ];
    for (words, bytes) in steps {
        stage.run(&[&["filter"], words].concat()).ended(0);
        assert_eq!(sampled(&stage), bytes, "{words:?}");
    }
    // One that is not taken changes nothing.
    let wrong = ["filter", "add", "eth0", "drop tcp", "--set", "filter_sample_bites=1"];
    assert!(stage.run(&wrong).error().contains("filter_sample_bytes"), "with a hint");
    assert_eq!(sampled(&stage), 128);
}

/// A reader takes no lock: between reading which program runs and finding its pins, another one may
/// take its place.
#[test]
fn a_filter_is_found_while_it_is_replaced() {
    let stage = Stage::new();
    load(&stage, &["a: drop udp dport 9"]);
    let (control, ended) = (Control::new(stage.xway.state()), Arc::new(AtomicBool::new(false)));
    let is_over = Arc::clone(&ended);
    let read = move || {
        let (mut found, mut programs) = (0, std::collections::BTreeSet::new());
        while !is_over.load(Ordering::Relaxed) {
            let active = ActiveFilter::open(&control, "eth0").map_err(|error| error.to_string())?;
            programs.insert(active.program_id);
            found += 1;
        }
        Ok::<_, String>((found, programs.len()))
    };
    let reader = stage.net.b.spawn(read).unwrap();
    for _ in 0..10 {
        stage.run(&["filter", "add", "eth0", "b: drop udp dport 10"]).ended(0);
        stage.run(&["filter", "remove", "eth0", "b"]).ended(0);
    }
    ended.store(true, Ordering::Relaxed);
    let (found, programs) = reader.join().unwrap().unwrap().unwrap();
    assert!(found > 0 && programs > 1, "{found} readings of {programs} programs");
}
