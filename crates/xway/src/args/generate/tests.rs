//! Arguments of `xway gen`, as tables.

use std::time::Duration;

use clap::Parser;
use traffic::Rate;
use traffic::stream::{Atom, Pool, Value, Vary};

use super::*;
use crate::args::{Cli, Command};

fn parse(line: &str) -> Result<GenArgs, String> {
    let words = ["xway", "gen"].into_iter().chain(line.split_whitespace());
    match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
        Command::Gen(args) => Ok(*args),
        other => panic!("{other:?}"),
    }
}

fn udp(line: &str) -> PortArgs<SendArgs> {
    match parse(&format!("udp {line}")).unwrap().action.unwrap() {
        Action::Load(Load::Udp(args)) => args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_kind_is_a_subcommand() {
    for line in [
        "udp 10.0.0.2 --dev a",
        "icmp fd00::2 --dev a",
        "syn 10.0.0.2:80 --dev a --sport 1024..65535",
        "tcp-syn 10.0.0.2:80 --dev a",
        "arp 10.0.0.0/24 --dev a",
        "raw ffffffffffff020000000001aaaa --dev a --size 60",
        "file streams.toml --dev a",
        "streams.toml --dev a --rate 1mpps",
        "pcap x.pcap --dev a --speed 2 --map-mac *=02:00:00:00:00:09",
        "inject udp 10.0.0.2:53 --src 10.0.0.9 --dev a",
        "inject udp 10.0.0.2:53 --dev a --to prog.o --program one",
        "inject --to prog.o pcap x.pcap --dev a",
        "tcp 10.0.0.2:5001 --dev a --flows 100k --sport 2000..3000 --algorithm newreno",
        "ndr udp 10.0.0.2:53 --dev a --sink b --sink-netns c --frames 64,imix --loss 0.1",
        "udp 10.0.0.2 --dry-run --write x.pcapng --first 7",
    ] {
        parse(line).unwrap_or_else(|why| panic!("{line}: {why}"));
    }
    let short = parse("streams.toml --dev a --rate 1mpps").unwrap();
    let streams = short.streams.as_deref().and_then(std::path::Path::to_str);
    assert_eq!((streams, short.run.dev.as_deref()), (Some("streams.toml"), Some("a")));
}

#[test]
fn what_does_not_fit_is_refused() {
    for (line, why) in [
        ("udp 10.0.0.2", "--dev"),
        ("streams.toml", "--dev"),
        ("udp 10.0.0.2 --dev a --rate 5", "500kpps"),
        ("udp 10.0.0.2 --dev a --burst 5", "--rate"),
        ("udp 10.0.0.2 --dev a --rate 1mpps --burst 5 --poisson", "--poisson"),
        ("udp 10.0.0.2 --dev a --rate 1mpps --ramp max:1s", "ends at a number"),
        ("udp 10.0.0.2 --dev a --count 0", "at least one"),
        ("udp 10.0.0.2 --dev a --batch 257", "257"),
        ("udp 10.0.0.2 --dev a --threads 0", "1 to 64"),
        ("udp 10.0.0.2 --dev a --threads 2 --cpus 1", "cannot be used with"),
        ("udp 10.0.0.2 --dev a --cpus 1,1", "once"),
        ("udp 10.0.0.2 --dev a --dry-run", "--write"),
        ("udp 10.0.0.2 --dev a --sink-netns b", "--sink"),
        ("udp 10.0.0.2 --dev a --stamp --no-stamp", "cannot be used with"),
        ("udp 10.0.0.2 --dev a --expect drop --no-stamp", "cannot be used with"),
        ("udp 10.0.0.2 --dev a --vlan 1:2:3", "two VLANs"),
        ("udp 10.0.0.2 --dev a --payload 123", "pairs of digits"),
        ("udp [fd00::2 --dev a", "brackets"),
        ("udp 10.0.0.2: --dev a", "brackets"),
        ("tcp 10.0.0.2 --dev a", "invalid"),
        ("tcp 10.0.0.2:80 --dev a --sport 9..1", "a range of ports"),
        ("ndr udp 10.0.0.2 --dev a", "--sink"),
        ("ndr udp 10.0.0.2 --dev a --sink b --loss 101", "percentage"),
        ("ndr udp 10.0.0.2 --dev a --sink b --frames 63", "frame size"),
        ("pcap x --dev a --speed 0", "factor"),
        ("inject udp 10.0.0.2 --dev a --program x", "--to"),
    ] {
        let said = parse(line).expect_err(line);
        assert!(said.contains(why), "{line}: {said}");
    }
}

#[test]
fn destinations() {
    let range = |text: &str| {
        let order = traffic::stream::Order::Sequence;
        Value::Vary(Vary { pool: Pool::Range(text.to_owned()), step: 1, order })
    };
    let one = |text: &str| Value::Constant(Atom::from(text));
    for (text, address, port) in [
        ("10.0.0.2", one("10.0.0.2"), None),
        ("10.0.0.2:53", one("10.0.0.2"), Some(one("53"))),
        ("10.0.0.0/24:1..9", range("10.0.0.0/24"), Some(range("1..9"))),
        ("fd00::2", one("fd00::2"), None),
        ("[fd00::2]:53", one("fd00::2"), Some(one("53"))),
        ("[fd00::2]", one("fd00::2"), None),
    ] {
        let found: Destination = text.parse().unwrap();
        assert_eq!(found, Destination { address, port }, "{text}");
    }
    let random: Destination = "random:10.0.0.0/8:53".parse().unwrap();
    assert_eq!(
        (random.address, random.port),
        ("random:10.0.0.0/8".parse().unwrap(), Some(one("53")))
    );
}

#[test]
fn rates_counts_and_processors() {
    let args = udp("10.0.0.2 --dev a --rate 1kpps --ramp 2mpps:10s --count 5m --cpus 0,2..3").run;
    assert_eq!(args.rate, Some(Rate::PacketsPerSecond(1e3)));
    assert_eq!(args.ramp, Some((Rate::PacketsPerSecond(2e6), Duration::from_secs(10))));
    assert_eq!((args.count, args.cpus.unwrap().0), (Some(5_000_000), vec![0, 2, 3]));
    for (text, count) in [("7", Some(7)), ("10k", Some(10_000)), ("1G", Some(1_000_000_000))] {
        assert_eq!(parse::count(text).ok(), count, "{text}");
    }
    for text in ["", "k", "-1", "1.5", "99999999999999999999", "20000000000g"] {
        assert!(parse::count(text).is_err(), "{text}");
    }
    for text in ["", "a", "3..1", "0..99999", "1,,2"] {
        assert!(parse::cpus(text).is_err(), "{text}");
    }
}

#[test]
fn frames_are_described_by_flags() {
    let frame = udp("10.0.0.2 --dev a --vlan 100:7 --payload 01:ff --dscp 63 --size imix").frame;
    assert_eq!(frame.vlan.unwrap().0.len(), 2);
    assert_eq!(frame.payload.unwrap().0, [1, 255]);
    assert_eq!((frame.dscp, frame.expect), (Some(63), ExpectArg::Pass));
    assert!(parse("udp 10.0.0.2 --dev a --dscp 64").is_err());
    let varying = udp("10.0.0.2 --dev a --sport 1..9 --src random:10.0.0.0/8");
    assert_eq!(varying.sport, Some("1..9".parse().unwrap()));
    assert!(matches!(varying.frame.src, Some(Value::Vary(_))), "{:?}", varying.frame.src);
}
