//! A device under test, judged packet by packet: each frame carries the expected action, and the
//! sink after the device compares it with the actual one. Needs root; all packets remain in a lab.
//!
//! `cargo build -p xway-examples && sudo target/debug/07-judge`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::time::Duration;

use anyhow::Result;
use functions::drop::{self, Maps};
use kernel::{Attach, Link, LoadOptions, Mode, Object, Replace};
use lab::{Host, LinkOptions, Router};
use spec::Spec;
use traffic::Expect;
use traffic::generator::{Config, Generator, Load};
use traffic::sink::{Sink, SinkConfig};
use traffic::stream::{File, Quick, QuickProtocol, Stream};

fn main() -> Result<()> {
    // a sends, b is the device: a router that drops DNS; c counts what gets through.
    let net = Router::build(&LinkOptions::default())?;
    let _device = device(&net.b)?;
    let sink = net.c.run(|| Sink::start(&SinkConfig::new("eth0")))??;

    let web = stream(&net, "web", "80", Expect::Pass)?;
    let dns = stream(&net, "dns", "53", Expect::Drop)?;
    let streams = File { streams: vec![web, dns] }.templates(1500)?;
    let config = Config {
        profile: "20kpps".parse()?,
        count: Some(10_000),
        duration: Some(Duration::from_secs(10)),
        announce_end: true,
        ..Config::new("eth0", Load::Streams(streams.clone()))
    };
    let sent = net.a.run(|| Generator::start(config))??.wait()?;
    lab::until("the end of the web stream", Duration::from_secs(5), || {
        Ok(sink.all_ended().unwrap_or(true).then_some(()))
    })?;

    let report = sink.stop()?;
    for (stream, given) in streams.iter().zip(&sent.totals.streams) {
        let Some(seen) = report.streams.iter().find(|seen| seen.id == stream.id) else {
            println!("{}: {given} sent, none arrived", stream.name);
            continue;
        };
        let p99 = seen.latency_ns.quantile(0.99).unwrap_or(0);
        let (name, received, wrong) = (&stream.name, seen.received, seen.wrong);
        println!("{name}: {given} sent, {received} arrived, {wrong} judged wrong, p99 {p99} ns");
    }
    Ok(())
}

fn device(host: &Host) -> Result<Link> {
    let config =
        drop::Config { rules: vec!["10.0.2.2 udp 53".parse()?], ..drop::Config::default() };
    let mut spec = Spec::parse("drop", drop::OBJECT)?;
    config.apply(&mut spec)?;
    let object = Object::load(&spec, &LoadOptions::default())?;
    drop::update(&config, &Maps::find(|name| object.map(name))?)?;
    let (ifindex, program) = (host.ifindex("eth0")?, object.program(drop::PROGRAM)?);
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    Ok(host.run(|| kernel::attach(&attach))??)
}

fn stream(net: &Router, name: &str, port: &str, expect: Expect) -> Result<Stream> {
    let quick = Quick {
        name: name.into(),
        src: Some("10.0.1.2".into()),
        dst: Some("10.0.2.2".into()),
        sport: Some("4000".into()),
        dport: Some(port.into()),
        stamp: true,
        expect,
        ..Quick::new(QuickProtocol::Udp)
    };
    let mut stream = quick.stream();
    stream.address(net.a.mac("eth0")?, Some(net.b.mac("eth0")?));
    Ok(stream)
}
