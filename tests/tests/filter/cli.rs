//! `xway filter`, the commands that read and write files, and bans: what they print, what other
//! programs read in it, and how they end.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command};

use lab::until;
use serde_json::{Value, json};
use xway_tests::filter::{counted, load, rules, sampling};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::{Answer, Xway};

/// Sends frames while samples are taken, which end with the last one.
fn sampled(stage: &Stage, words: &[&str], capture: &Path, frames: &[Vec<u8>]) -> Answer {
    let mut child = sampling(stage, &[&["--for", "60s"], words].concat(), capture);
    frames.iter().for_each(|frame| stage.send(frame, 1));
    ended(&mut child);
    Answer::of(child.wait_with_output().unwrap())
}

fn ended(child: &mut Child) {
    let over = until("the end", 6 * PATIENCE, || Ok(child.try_wait().ok().flatten()));
    if over.is_err() {
        let _ended_by_itself = child.kill();
    }
}

/// Packets of a capture as tshark reads them: verdict, interface's name, comment, source port.
fn tshark(path: &Path) -> Vec<Vec<String>> {
    let fields =
        ["frame.interface_name", "frame.comment", "udp.dstport", "frame.len", "frame.cap_len"];
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path).args(["-T", "fields", "-E", "separator=|"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

fn packets(path: &Path) -> Vec<pcap::Packet> {
    let mut reader = pcap::Reader::new(File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    let mut packet = pcap::Packet::default();
    while reader.next_into(&mut packet).unwrap() {
        assert_eq!(reader.interfaces()[packet.interface].name.as_deref(), Some("eth0"));
        packets.push(packet.clone());
    }
    packets
}

#[test]
fn samples_are_written_for_other_programs() {
    let stage = Stage::new();
    load(&stage, &["some: sample 1/1 udp", "seven: drop udp dport 7"]);
    let path = stage.xway.state().join("samples.pcapng");
    let long = stage.flow(9).udp(&[5; 400]).unwrap();
    let frames = [stage.flow(7).udp(b"x").unwrap(), stage.flow(8).udp(b"x").unwrap(), long.clone()];
    let words = ["--count", "3", "--samples", "2"];
    let said = sampled(&stage, &words, &path, &frames).json(0);
    assert_eq!((&said["packets"], &said["lost"]), (&json!(3), &json!(0)), "{said:#}");
    assert_eq!(said["samples"].as_array().unwrap().len(), 2, "two are shown, all are written");
    let first = &said["samples"][0];
    let fields = ["sampled_by", "verdict", "rule", "reason"].map(|field| first[field].as_str());
    assert_eq!(fields, [Some("some"), Some("drop"), Some("seven"), Some("rule")]);
    let seen = packets(&path);
    let verdicts: Vec<_> = seen.iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [1_u32, 2, 2].map(|verdict| Some(verdict.into())));
    let comments: Vec<_> = seen.iter().map(|one| one.comment.as_deref().unwrap()).collect();
    let wanted = [
        "drop by seven, sampled by some",
        "pass by (default), sampled by some",
        "pass by (default), sampled by some",
    ];
    assert_eq!(comments, wanted);
    assert_eq!(seen[0].data, frames[0]);
    assert_eq!((seen[2].original_len as usize, &seen[2].data[..]), (long.len(), &long[..128]));
    assert!(
        seen.iter().all(|one| one.queue == Some(0) && one.timestamp_ns > 1_600_000_000_000_000_000)
    );
    let rows = tshark(&path);
    let row = |place: usize| rows[place].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(row(0), ["eth0", wanted[0], "7", "43", "43"]);
    assert_eq!(row(2), ["eth0", wanted[2], "9", "442", "128"]);
}

#[test]
fn samples_taken_before_the_command_are_not_shown() {
    let stage = Stage::new();
    load(&stage, &["all: sample 1/1 udp"]);
    let path = stage.xway.state().join("later.pcapng");
    stage.send(&stage.flow(7).udp(b"before").unwrap(), 20);
    counted(&stage, 20);
    let later = stage.flow(8).udp(b"later").unwrap();
    let said = sampled(&stage, &["--count", "1"], &path, std::slice::from_ref(&later)).json(0);
    assert_eq!(said["packets"], json!(1), "{said:#}");
    let seen: Vec<_> = packets(&path).into_iter().map(|packet| packet.data).collect();
    assert_eq!(seen, [later]);
}

#[test]
fn sampling_that_finds_nothing() {
    let stage = Stage::new();
    let words = ["filter", "sample", "eth0", "--for", "10ms"];
    assert!(stage.run(&words).error().contains("no filter runs on eth0"));
    load(&stage, &["drop udp"]);
    let text = stage.run(&words).error();
    assert!(text.contains("no rule on eth0 samples") && text.contains("filter add"), "{text}");
    load(&stage, &["sample 1/1 udp"]);
    let path = stage.xway.state().join("none.pcapng");
    let words = [&words[..], &["--write", path.to_str().unwrap()]].concat();
    assert!(stage.run(&words).ended(1).contains("0 packets"));
    assert_eq!(packets(&path).len(), 0, "a whole file without packets");
    let nowhere = ["filter", "sample", "eth0", "--for", "10ms", "--write", "/nowhere/x.pcapng"];
    assert!(stage.run(&nowhere).error().contains("/nowhere/x"));
}

#[test]
fn a_capture_is_explained_without_rights() {
    let xway = Xway::new();
    let rules = xway.state().join("rules.toml");
    std::fs::write(
        &rules,
        "rules = ['all: count udp', 'dns: pass udp dport 53', 'low: drop udp dport 1-99']",
    )
    .unwrap();
    let capture = xway.state().join("x.pcap");
    let frames = [udp(53), udp(7), udp(7)[..30].to_vec(), udp(100)];
    let mut writer = pcap::Writer::pcap(
        File::create(&capture).unwrap(),
        pcap::LinkType::ETHERNET,
        pcap::Resolution::Nano,
    )
    .unwrap();
    for data in frames {
        let original_len = data.len() as u32;
        writer.write(&pcap::Packet { data, original_len, ..pcap::Packet::default() }).unwrap();
    }
    writer.finish().unwrap();
    let [rules, capture] = [&rules, &capture].map(|path| path.to_str().unwrap());
    let text =
        xway.run_powerless(&["--json", "filter", "explain", capture, "--rules", rules]).ended(0);
    let values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let fields = ["n", "verdict", "rule", "reason", "decided"];
    let rows: Vec<_> = values.iter().map(|one| fields.map(|field| one[field].clone())).collect();
    let wanted = [
        [json!(1), json!("pass"), json!("dns"), json!("rule"), json!(0)],
        [json!(2), json!("drop"), json!("low"), json!("rule"), json!(0)],
        [json!(3), json!("drop"), Value::Null, json!("truncated"), json!(0)],
        [json!(4), json!("pass"), Value::Null, json!("default"), json!(0)],
    ];
    assert_eq!(rows, wanted);
    let layer = &values[1]["layers"][0];
    let before = json!([{ "rule": "dns", "why": "destination port is 7, not 53" }]);
    assert_eq!((&layer["matched"], &layer["before"]), (&json!(["all"]), &before));
    assert_eq!(values[2]["layers"][0]["odd"], json!(["truncated"]));
    let text = xway.run_powerless(&["filter", "explain", capture, "--rules", rules]).ended(0);
    assert!(
        text.contains("not dns: destination port is 7, not 53") && text.contains("low matched"),
        "{text}"
    );
    for (words, part) in [
        (&["filter", "explain", rules, "--rules", rules][..], "rules.toml"),
        (&["filter", "explain", "/nowhere", "--rules", rules], "/nowhere"),
        (&["filter", "explain", capture, "--rules", "/nowhere"], "/nowhere"),
        (&["filter", "explain", capture, "--only", "udp"], "--live"),
    ] {
        let text = xway.run_powerless(words).error();
        assert!(text.contains(part), "{words:?}: {text}");
    }
}

/// Ethernet, IPv4, UDP, to a port.
fn udp(port: u16) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..18].copy_from_slice(&[0x45, 0, 0, 28]);
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    frame[36..38].copy_from_slice(&port.to_be_bytes());
    frame[39] = 8;
    frame
}

const FLOW: &str = "flow {
    route ntp {
        match { destination 192.0.2.0/24; protocol udp; source-port =123; }
        then { discard; }
    }
}
";

#[test]
fn rules_are_translated_there_and_back() {
    let xway = Xway::new();
    let flow = xway.state().join("routes.conf");
    std::fs::write(&flow, FLOW).unwrap();
    let flow = flow.to_str().unwrap();
    let said = xway.run_powerless(&["--json", "filter", "import", "flowspec", flow]).json(0);
    assert_eq!((&said["format"], &said["rules"]), (&json!("toml"), &json!(1)), "{said:#}");
    let text = xway.run_powerless(&["filter", "import", "flowspec", flow]).ended(0);
    assert_eq!(said["text"].as_str(), Some(text.as_str()), "people get the text alone");
    // What came out is a file of rules.
    let rules = xway.state().join("rules.toml");
    std::fs::write(&rules, &text).unwrap();
    let rules = rules.to_str().unwrap();
    let checked = xway.run_powerless(&["--json", "filter", "check", rules]).json(0);
    let rule = checked["rules"][0]["rule"].as_str().unwrap();
    assert_eq!(rule, "drop ethertype ipv4 to 192.0.2.0/24 udp sport 123");
    let words = ["--json", "filter", "export", "nft", rules, "--dev", "eth0"];
    let said = xway.run_powerless(&words).json(0);
    assert_eq!((&said["format"], &said["rules"]), (&json!("nft"), &json!(1)));
    let nft = said["text"].as_str().unwrap();
    assert!(nft.contains("table netdev xway") && nft.contains("192.0.2.0-192.0.2.255"), "{nft}");
    // And nft's own reading of that comes back as the same rule; it needs root for that.
    let path = xway.state().join("rules.nft");
    std::fs::write(&path, nft).unwrap();
    let text = xway.run(&["filter", "import", "nft", path.to_str().unwrap()]).ended(0);
    assert!(text.contains("to 192.0.2.0/24") && text.contains("sport 123"), "{text}");
}

#[test]
fn what_cannot_be_translated_is_an_error() {
    let xway = Xway::new();
    let put = |name: &str, text: &str| {
        let path = xway.state().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let bad = put("bad.conf", &FLOW.replace("protocol udp", "protocool udp"));
    let marks = put("marks.toml", "rules = ['mark 7 udp']");
    let nft = put("x.nft", "{ \"nftables\": [] }");
    let broken = put("y.nft", "{ \"nftables\": [");
    for (words, part) in [
        (&["import", "flowspec", &bad][..], "protocool"),
        (&["import", "flowspec", "/nowhere"], "/nowhere"),
        (&["import", "nft", &nft], "chain"),
        (&["import", "nft", &broken], "JSON"),
        (&["import", "pf", &bad], "flowspec"),
        (&["export", "nft", &marks, "--dev", "eth0"], "mark"),
        (&["export", "nft", "/nowhere", "--dev", "eth0"], "/nowhere"),
        (&["export", "nft", &marks], "--dev"),
    ] {
        let text = xway.run_powerless(&[&["filter"], words].concat()).error();
        assert!(text.contains(part), "{words:?}: {text}");
    }
}

#[test]
fn bans_by_hand() {
    let stage = Stage::new();
    for words in
        [&["bans", "eth0"][..], &["ban", "eth0", "10.0.0.1"], &["unban", "eth0", "10.0.0.1"]]
    {
        let text = stage.run(&[&["filter"], words].concat()).error();
        assert!(text.contains("no filter runs on eth0"), "{words:?}: {text}");
    }
    load(&stage, &["count udp"]);
    let none = stage.json(&["filter", "bans", "eth0"]);
    assert_eq!(none, json!({ "interface": "eth0", "bans": [] }));
    assert!(stage.run(&["filter", "bans", "eth0"]).ended(0).contains("no source is banned"));
    let said = stage.json(&["filter", "ban", "eth0", "10.0.0.1", "2001:db8::7", "--for", "3600s"]);
    let bans: BTreeMap<_, _> = said["bans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ban| (ban["source"].as_str().unwrap().to_owned(), ban["left_s"].as_f64().unwrap()))
        .collect();
    assert_eq!(bans.keys().collect::<Vec<_>>(), ["10.0.0.1", "2001:db8::7"]);
    assert!(bans.values().all(|left| (3000.0..=3600.0).contains(left)), "{bans:?}");
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 2);
    let shown = counted(&stage, 2);
    assert_eq!(rules(&shown)[0].1, 0, "a banned source meets no rule");
    let said = stage.json(&["filter", "ban", "eth0", "10.0.0.1"]);
    let again = json!({ "source": "10.0.0.1", "left_s": null, "packets": 2 });
    assert_eq!(said["bans"][0], again, "without a time until it is taken back");
    assert!(stage.run(&["filter", "bans", "eth0"]).ended(0).contains("forever"));
    // One that is not banned is most likely misspelt: none is taken back then.
    let text = stage.run(&["filter", "unban", "eth0", "10.0.0.1", "10.0.0.9"]).error();
    assert!(text.contains("10.0.0.9 is not banned"), "{text}");
    for (words, part) in [
        (&["ban", "eth0", "10.0.0.256"][..], "10.0.0.256"),
        (&["ban", "eth0"], "SOURCE"),
        (&["ban", "eth0", "10.0.0.1", "--for", "soon"], "soon"),
        (&["ban", "eth7", "10.0.0.1"], "eth7"),
    ] {
        let text = stage.run(&[&["filter"], words].concat()).error();
        assert!(text.contains(part), "{words:?}: {text}");
    }
    let said = stage.json(&["filter", "unban", "eth0", "10.0.0.1"]);
    assert_eq!(said["bans"].as_array().unwrap().len(), 1, "{said:#}");
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
    assert_eq!(rules(&counted(&stage, 3))[0].1, 1);
}

/// A shell is offered the names of the rules that run on the interface of the line.
#[test]
fn names_of_rules_are_completed() {
    let stage = Stage::new();
    load(&stage, &["count udp", "drop tcp dport 9"]);
    let words = ["--", "xway", "filter", "remove", "eth0", ""];
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    command.env("XWAY_STATE", stage.xway.state()).env("XWAY_COMPLETE", "bash");
    command.env("_CLAP_COMPLETE_INDEX", "4").env("_CLAP_IFS", "\n");
    let offered = Answer::of(command.output().unwrap()).ended(0);
    let shown = stage.json(&["filter", "show", "eth0"]);
    for rule in shown["rules"].as_array().unwrap() {
        let name = rule["name"].as_str().unwrap();
        assert!(offered.lines().any(|one| one == name), "{name}: {offered}");
    }
}
