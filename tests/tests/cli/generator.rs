//! `xway gen` on a wire between two hosts: the frames that it reports as sent are those that
//! arrive. Speed is not tested here.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;

use lab::{Host, LinkOptions, TwoHosts, until};
use serde_json::{Value, json};
use xway_tests::stage::PATIENCE;
use xway_tests::xway::{Answer, Xway, interrupt, prebuilt};

/// `a` sends, `b` receives.
struct Net {
    net: TwoHosts,
    xway: Xway,
}

impl Net {
    fn new() -> Self {
        let net = TwoHosts::build(&LinkOptions::default()).unwrap();
        Self { net, xway: Xway::new() }
    }

    /// `xway gen WORDS --dev eth0 --json` in `a`.
    fn words(words: &str) -> Vec<&str> {
        // A busy machine misses rates; only one test is about that.
        let is_plain = !words.starts_with("tcp") && !words.starts_with("ndr");
        let miss = (is_plain && !words.contains("--rate 50gbps")).then_some("--allow-miss");
        let rest = ["--dev", "eth0", "--json"].into_iter().chain(miss);
        ["gen"].into_iter().chain(words.split_whitespace()).chain(rest).collect()
    }

    fn command(&self, words: &str) -> Command {
        let mut command = self.xway.command_in(&self.net.a, &Self::words(words));
        // The SSH session of the tests' user is elsewhere.
        command.env("SSH_CONNECTION", "").stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &str) -> Answer {
        Answer::of(self.command(words).output().unwrap())
    }

    #[track_caller]
    fn json(&self, words: &str) -> Value {
        self.run(words).json(0)
    }

    /// Options of a sink in the same process, on the other host.
    fn sink(&self) -> String {
        format!("--sink eth0 --sink-netns {}", self.net.b.netns().name())
    }

    fn received(&self) -> u64 {
        self.net.b.netlink().unwrap().link("eth0").unwrap().statistics.rx_packets
    }

    fn wait_for_frames(&self) {
        let before = self.received();
        // More than neighbor discovery.
        let came = || Ok((self.received() > before + 200).then_some(()));
        until("frames on the other host", PATIENCE, came).unwrap();
    }
}

#[track_caller]
fn assert_all_arrived(answer: &Value, count: u64) {
    assert_eq!((&answer["sent"], &answer["not_sent"]), (&json!(count), &json!(0)), "{answer}");
    let stream = &answer["sink"]["streams"][0];
    let fields = ["received", "lost", "reordered", "duplicated", "corrupted", "sent"];
    let found: Vec<_> = fields.iter().map(|field| stream[field].as_u64().unwrap()).collect();
    assert_eq!(found, [count, 0, 0, 0, 0, count], "{answer}");
}

#[test]
fn as_many_arrive_as_were_sent() {
    let net = Net::new();
    let to = ["udp 10.0.0.2:53", "icmp fd00::2", "udp [fd00::2]:53 --size imix", "arp 10.0.0.2"];
    for to in to {
        let words = format!("{to} --stamp --count 500 --rate 20kpps --judge {}", net.sink());
        let answer = net.json(&words);
        assert_all_arrived(&answer, 500);
        assert!(answer["pps"].as_f64().unwrap() > 0.0 && answer["stopped"] == false, "{answer}");
        assert!(answer["sink"]["streams"][0]["latency_ns"]["p50"].is_number(), "{answer}");
    }
}

#[test]
fn flat_out_every_frame_is_accounted_for() {
    let net = Net::new();
    let words = format!("udp 10.0.0.2:1000..1999 --count 20000 {}", net.sink());
    let answer = net.json(&words);
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!(number(&answer["sent"]) + number(&answer["not_sent"]), 20_000, "{answer}");
    let stream = &answer["sink"]["streams"][0];
    assert_eq!(stream["received"], answer["sent"], "{answer}");
    // What the interface did not accept is not lost.
    assert_eq!(stream["lost"], 0, "{answer}");
    assert_eq!(answer["sink"]["not_sent"], answer["not_sent"], "{answer}");
    assert_eq!(answer["sink"]["judgement"]["good"], true, "{answer}");
}

#[test]
fn the_answer_has_the_fields_that_scripts_expect() {
    let net = Net::new();
    let answer = net.run("udp 10.0.0.2 --count 100 --rate 1kpps --interval 20ms").ended(0);
    let lines: Vec<Value> =
        answer.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 1, "lines on the way were asked for: {answer}");
    let last = lines.last().unwrap();
    for field in ["sent", "not_sent", "seconds", "pps"] {
        assert!(last[field].is_number(), "{field} in {last}");
    }
    assert!(lines[0]["t"].is_number() && lines[0]["sink"].is_null(), "{}", lines[0]);
}

#[test]
fn an_interrupt_ends_it_with_exact_totals() {
    let net = Net::new();
    let child = net.command(&format!("udp 10.0.0.2 --rate 5kpps {}", net.sink())).spawn().unwrap();
    // The sink consumes frames before the counters, so its own are read.
    let attached = || {
        let link = net.net.b.netlink().unwrap().link("eth0")?;
        Ok((!link.xdp.is_empty()).then_some(()))
    };
    until("the sink", PATIENCE, attached).unwrap();
    net.wait_for_frames();
    interrupt(&child);
    let answer = Answer::of(child.wait_with_output().unwrap()).json(0);
    assert_eq!(answer["stopped"], true, "{answer}");
    assert_all_arrived(&answer, answer["sent"].as_u64().unwrap());
    assert!(answer["sent"].as_u64().unwrap() > 0, "{answer}");
}

#[test]
fn a_peer_that_does_not_listen_is_named_with_what_to_change() {
    let net = Net::new();
    net.net.b.set_feature("eth0", "rx-gro", false).unwrap();
    let said = net.run("udp 10.0.0.2 --count 50 --rate 10kpps").error();
    assert!(said.contains("ethtool -K"), "{said}");
    // In mid-run it is counted, frame by frame.
    net.net.b.set_feature("eth0", "rx-gro", true).unwrap();
    let words = "udp 10.0.0.2 --rate 2kpps --interval 10ms --time 20s";
    let mut child = net.command(words).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert!(lines.any(|sample| sample["sent"].as_u64() > Some(10)), "it begins well");
    net.net.b.set_feature("eth0", "rx-gro", false).unwrap();
    assert!(lines.any(|sample| sample["faults"] != json!([])), "a fault shows on the way");
    interrupt(&child);
    let answer = lines.last().unwrap();
    assert!(child.wait().unwrap().success());
    let fault = &answer["faults"][0];
    assert_eq!((&fault["error"], &fault["frames"]), (&json!("EOPNOTSUPP"), &answer["not_sent"]));
    assert!(fault["advice"].as_str().unwrap().contains("ethtool -K"), "{answer}");
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is() {
    let net = Net::new();
    for (words, why) in [
        ("udp 10.0.0.2 --size 1600 --count 1", "MTU"),
        ("udp 192.0.2.1 --count 1", "no route to 192.0.2.1"),
        ("udp 10.0.0.77 --count 1", "10.0.0.77 does not answer on eth0"),
        ("udp 10.0.0.2 --count 1 --cpus 4000", "4000"),
        ("inject udp 10.0.0.1 --count 1", "--src"),
        ("udp 10.0.0.2 --count 1 --sink absent", "absent"),
        ("udp 10.0.0.2 --count 1 --sink eth0 --sink-netns absent", "absent"),
    ] {
        let said = net.run(words).error();
        assert!(said.contains(why), "{words}: {said}");
    }
    let said = net.xway.run_in(&net.net.a, &["gen", "udp", "10.0.0.2", "--dev", "eth9"]).error();
    assert!(said.contains("no interface `eth9`"), "{said}");
}

#[test]
fn the_users_own_session_is_not_flooded() {
    let net = Net::new();
    let over = |session: &str, words: &str| {
        let mut command = net.command(words);
        Answer::of(command.env("SSH_CONNECTION", session).output().unwrap())
    };
    let session = "10.0.0.2 50000 10.0.0.1 22";
    for words in ["udp 10.0.0.2 --count 9", "udp 10.0.0.2 --count 9 --rate 20kpps"] {
        let said = over(session, words).error();
        assert!(
            said.contains("carries your own SSH session") && said.contains("--force"),
            "{said}"
        );
    }
    for (session, words) in [
        (session, "udp 10.0.0.2 --count 9 --rate 1kpps"),
        (session, "udp 10.0.0.2 --count 9 --rate 20kpps --force"),
        ("192.0.2.7 50000 192.0.2.1 22", "udp 10.0.0.2 --count 9 --rate 20kpps"),
    ] {
        assert_eq!(over(session, words).json(0)["sent"], 9, "{words}");
    }
}

#[test]
fn the_next_hop_is_asked_for() {
    let net = Net::new();
    // A second address, of which no neighbor entry exists.
    let (b, ip) = (&net.net.b, "10.0.0.9".parse().unwrap());
    let address = sys::net::NewAddress { ip, prefix: 24 };
    b.netlink().unwrap().add_address(b.ifindex("eth0").unwrap(), address).unwrap();
    let answer = net.json(&format!("udp 10.0.0.9 --count 10 --rate 1kpps {}", net.sink()));
    assert_all_arrived(&answer, 10);
}

#[test]
fn numbers_can_be_scraped_while_it_runs() {
    let net = Net::new();
    let words = "udp 10.0.0.2 --rate 2kpps --prometheus 127.0.0.1:9477";
    let child = net.command(words).spawn().unwrap();
    let scrape = || scrape(&net.net.a).filter(|page| sent(page) > 0);
    let page = until("a page with frames", PATIENCE, || Ok(scrape())).unwrap();
    interrupt(&child);
    let answer = Answer::of(child.wait_with_output().unwrap()).json(0);
    assert!(sent(&page) <= answer["sent"].as_u64().unwrap(), "{page}{answer}");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("# TYPE xway_gen_frames_not_sent_total counter"), "{page}");
}

fn scrape(host: &Host) -> Option<String> {
    host.run(|| {
        let mut client = TcpStream::connect("127.0.0.1:9477").ok()?;
        client.set_read_timeout(Some(PATIENCE)).ok()?;
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").ok()?;
        let mut page = String::new();
        client.read_to_string(&mut page).ok()?;
        Some(page)
    })
    .unwrap()
}

fn sent(page: &str) -> u64 {
    let line = page.lines().find_map(|line| line.strip_prefix("xway_gen_frames_sent_total "));
    line.map_or(0, |number| number.parse().unwrap())
}

#[test]
fn injected_frames_reach_this_hosts_sockets() {
    let net = Net::new();
    let socket = net.net.a.run(|| UdpSocket::bind("10.0.0.1:7000")).unwrap().unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let words = "inject udp 10.0.0.1:7000 --src 10.0.0.2 --payload 01020304 --count 10";
    let answer = net.json(&format!("{words} --rate 1kpps"));
    assert_eq!(answer["sent"], 10, "{answer}");
    let mut buffer = [0; 100];
    for _ in 0..10 {
        let (len, from) = socket.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..4], from.ip().to_string().as_str()), (&[1, 2, 3, 4][..], "10.0.0.2"));
        assert_eq!(len, 4, "what was given, and no stamp");
    }
}

#[test]
fn a_program_receives_frames_and_its_verdicts_are_reported() {
    let net = Net::new();
    let object = prebuilt("drop.o");
    let to = format!(
        "inject udp 10.0.0.1:7000 --src 10.0.0.2 --program xway_drop --to {}",
        object.display()
    );
    let answer = net.json(&format!("{to} --count 10 --rate 1kpps"));
    assert_eq!(answer["verdicts"]["pass"], 10, "{answer}");
}

#[test]
fn a_capture_is_sent_as_it_was_taken() {
    let net = Net::new();
    let file = net.xway.state().join("first.pcapng");
    let words =
        format!("udp 10.0.0.2 --rate 2kpps --dry-run --first 40 --write {}", file.display());
    assert_eq!(net.json(&words)["sent"], 0);
    for timing in ["", "--speed 4", "--rate 5kpps", "--rate max"] {
        let words = format!("pcap {} {timing} {}", file.display(), net.sink());
        let answer = net.json(&words);
        assert_eq!(answer["sent"], 40, "{timing}: {answer}");
        assert_eq!(answer["sink"]["streams"][0]["received"], 40, "{timing}: {answer}");
    }
    fs::write(&file, b"not a capture at all, only text").unwrap();
    assert!(net.run(&format!("pcap {}", file.display())).error().contains("first.pcapng"));
}

#[test]
fn throughput_is_measured_and_written_down() {
    let net = Net::new();
    let out = net.xway.state().join("ndr");
    let answer = net.json(&format!(
        "ndr udp 10.0.0.2 {} --frames 64 --least 1kpps --most 4kpps --trial 100ms --shares 50 \
         --latency 100ms --resolution 40 --out {}",
        net.sink(),
        out.display()
    ));
    let row = &answer["rows"][0];
    assert_eq!(row["size"], "64", "{answer}");
    assert!(row["trials"].as_array().is_some_and(|trials| !trials.is_empty()), "{answer}");
    let files = answer["files"].as_array().unwrap();
    let has = |name: &str| files.iter().any(|file| file.as_str().unwrap().ends_with(name));
    assert!(files.len() == 5 && has("latency.svg"), "{answer}");
    let page = fs::read_to_string(files[0].as_str().unwrap()).unwrap();
    assert!(page.contains("<svg") && page.contains("RFC 2544"));
}

#[test]
fn connections_carry_the_requested_bytes() {
    let net = Net::new();
    let listener = net.net.b.run(|| TcpListener::bind("10.0.0.2:5001")).unwrap().unwrap();
    let reader = thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut bytes = Vec::new();
        peer.read_to_end(&mut bytes).unwrap();
        bytes.len()
    });
    let answer = net.json("tcp 10.0.0.2:5001 --bytes 100k --each");
    assert_eq!(reader.join().unwrap(), 100_000);
    assert_eq!(answer["flows"]["closed"], 1, "{answer}");
    assert_eq!(answer["acked_bytes"], 100_000, "{answer}");
    assert_eq!(answer["connections"][0]["acked_bytes"], 100_000, "{answer}");
    assert!(answer["goodput_bps"].as_f64().unwrap() > 0.0, "{answer}");

    let refused = net.run("tcp 10.0.0.2:5002 --bytes 1k").json(1);
    assert_eq!(refused["flows"]["refused"], 1, "{refused}");
}

#[test]
fn exactly_the_count_is_on_the_wire() {
    let net = Net::new();
    // There are no other senders.
    for host in [&net.net.a, &net.net.b] {
        host.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
    }
    for (words, frames) in [
        ("udp 10.0.0.2:9 --count 100 --rate 1kpps", 100),
        ("udp 10.0.0.2:9 --count 100", 100),
        // Three times four frames announce the end of a stream.
        ("udp 10.0.0.2:9 --count 100 --announce-end", 112),
    ] {
        let before = net.received();
        net.json(words);
        let arrived = || Ok((net.received() >= before + frames).then_some(()));
        until("the frames arrive", PATIENCE, arrived).unwrap();
        assert_eq!(net.received() - before, frames, "{words}");
    }
}

#[test]
fn a_rate_that_is_missed_is_a_negative_result() {
    let net = Net::new();
    let words = "udp 10.0.0.2:9 --count 2000 --rate 50gbps";
    let missed = net.run(words).json(1);
    assert!(missed["missed"].as_f64().unwrap() > 0.01, "{missed}");
    assert!(missed["target_pps"].as_f64().unwrap() > missed["pps"].as_f64().unwrap());
    let link = missed["link_bps"].as_f64().unwrap();
    assert!(link > 0.0 && missed["l1_bps"].as_f64() > missed["bps"].as_f64(), "{missed}");
    net.run(&format!("{words} --allow-miss")).json(0);
    let unlimited = net.json("udp 10.0.0.2:9 --count 100");
    assert!(unlimited["target_pps"].is_null() && unlimited["missed"].is_null(), "{unlimited}");
}
