//! `xway sink` from outside: what another process sends is counted, judged, reported.

use std::process::{Child, Command, Stdio};

use lab::{LinkOptions, TwoHosts, until};
use serde_json::{Value, json};
use xway_tests::stage::PATIENCE;
use xway_tests::xway::{Answer, Xway, prebuilt};

/// `a` sends, `b` listens.
struct Net {
    net: TwoHosts,
    xway: Xway,
}

impl Net {
    fn new() -> Self {
        let net = TwoHosts::build(&LinkOptions::default()).unwrap();
        Self { net, xway: Xway::new() }
    }

    /// `xway sink eth0 WORDS --json` in `b`, once it listens.
    fn listen(&self, words: &str) -> Child {
        let words = ["sink", "eth0", "--json"].into_iter().chain(words.split_whitespace());
        let words: Vec<_> = words.collect();
        let mut command = self.xway.command_in(&self.net.b, &words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let attached = || Ok((self.programs() > 0).then_some(()));
        until("the sink's program", PATIENCE, attached).unwrap();
        child
    }

    fn programs(&self) -> usize {
        self.net.b.netlink().unwrap().link("eth0").unwrap().xdp.programs().count()
    }

    /// `xway gen udp WORDS` in `a`, at a rate that every machine takes.
    fn send(&self, words: &str) {
        let begin = ["gen", "udp", "10.0.0.2", "--dev", "eth0", "--rate", "5kpps", "--force"];
        let begin = begin.into_iter().chain(["--announce-end", "--allow-miss"]);
        let words: Vec<_> = begin.chain(words.split_whitespace()).collect();
        self.xway.run_in(&self.net.a, &words).ended(0);
    }
}

fn end(child: Child) -> Answer {
    Answer::of(child.wait_with_output().unwrap())
}

#[track_caller]
fn counts(answer: &Value) -> Vec<u64> {
    let fields = ["received", "lost", "reordered", "duplicated", "corrupted"];
    let stream = &answer["streams"][0];
    fields.iter().map(|field| stream[field].as_u64().unwrap()).collect()
}

#[test]
fn another_process_is_counted_to_the_packet() {
    let net = Net::new();
    for words in ["", "--mode generic", "--pass", "--reflect", "--no-verify", "--other-clock"] {
        let sink = net.listen(&format!("--until-end --time 20s --judge {words}"));
        net.send("--count 300");
        let answer = end(sink).json(0);
        assert_eq!(counts(&answer), [300, 0, 0, 0, 0], "{words}: {answer}");
        let stream = &answer["streams"][0];
        assert_eq!((&stream["id"], &stream["sent"]), (&json!(0), &json!(300)), "{answer}");
        let timed = stream["latency_ns"]["p99"].is_number();
        assert_eq!(timed, words != "--other-clock", "{words}: {answer}");
        assert_eq!(net.programs(), 0, "{words}: the interface is left as it was");
    }
}

#[test]
fn a_socket_counts_too() {
    let net = Net::new();
    let words = ["sink", "eth0", "--json", "--via", "stack", "--until-end", "--time", "20s"];
    let mut command = net.xway.command_in(&net.net.b, &words);
    let mut sink = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Nothing shows that it listens, so it is sent to until it has seen an end.
    until("the end of a run", PATIENCE, || {
        net.send("--count 50");
        Ok(sink.try_wait().unwrap())
    })
    .unwrap();
    let answer = end(sink).json(0);
    assert!(counts(&answer)[0] >= 50, "{answer}");
}

#[test]
fn what_should_not_arrive_is_judged() {
    let net = Net::new();
    let sink = net.listen("--until-end --time 20s --judge");
    net.send("--count 20 --expect drop");
    let answer = end(sink).json(1);
    assert_eq!(answer["streams"][0]["wrong"], 20, "{answer}");
    assert_eq!(answer["judgement"]["good"], false, "{answer}");
}

#[test]
fn wrong_checksums_are_found() {
    let net = Net::new();
    let sink = net.listen("--until-end --time 20s");
    net.send("--count 20 --bad-checksum");
    let answer = end(sink).json(0);
    let stream = &answer["streams"][0];
    assert_eq!((&stream["corrupted"], &stream["received"]), (&json!(20), &json!(0)), "{answer}");
}

#[test]
fn an_interrupt_ends_it_and_frames_of_others_pass() {
    let net = Net::new();
    let sink = net.listen("--interval 10ms");
    net.send("--count 20 --no-stamp");
    let counted = || {
        let link = net.net.b.netlink().unwrap().link("eth0")?;
        Ok((link.statistics.rx_packets >= 20).then_some(()))
    };
    until("frames on the other host", PATIENCE, counted).unwrap();
    let pid = sink.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    let text = end(sink).ended(0);
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert!(last["foreign"].as_u64().unwrap() >= 20, "{last}");
    assert_eq!(last["streams"], json!([]), "{last}");
}

#[test]
fn an_interface_that_is_taken_or_absent_is_an_error() {
    let net = Net::new();
    let object = prebuilt("test/talk_drop.o");
    let words = ["attach", "eth0", object.to_str().unwrap()];
    net.xway.run_in(&net.net.b, &words).ended(0);
    let said = net.xway.run_in(&net.net.b, &["sink", "eth0", "--time", "1s"]).error();
    assert!(said.contains("eth0"), "{said}");
    let said = net.xway.run_in(&net.net.b, &["sink", "eth9", "--time", "1s"]).error();
    assert!(said.contains("eth9"), "{said}");
}
