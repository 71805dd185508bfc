//! Traffic from a description: three frames to a resolver for each to a web server, from a thousand
//! addresses, at a rate that changes while it runs; the other host counts them packet by packet.
//! Needs root; touches nothing outside of the two namespaces that it makes, and removes them.
//!
//! `cargo build -p xway-examples && sudo target/debug/06-generate`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::thread;
use std::time::Duration;

use anyhow::Result;
use lab::{LinkOptions, TwoHosts};
use traffic::generator::{Config, Generator, Load};
use traffic::sink::{Sink, SinkConfig};
use traffic::stream::File;

const STREAMS: &str = r#"
[[stream]]
name = "dns"
weight = 3
stamp = true
size = "imix"
layers = [
    { ethernet = {} },
    { ipv4 = { src = { random = "10.0.4.0/22" }, dst = "10.0.0.2" } },
    { udp = { src = { sequence = "1024..65535" }, dst = 53 } },
]

[[stream]]
name = "web"
stamp = true
layers = [
    { ethernet = {} },
    { ipv4 = { src = { random = "10.0.4.0/22" }, dst = "10.0.0.2" } },
    { tcp = { src = { random = "1024..65535" }, dst = 80, flags = "syn" } },
]
"#;

fn main() -> Result<()> {
    let net = TwoHosts::build(&LinkOptions::default())?;
    let mut streams = File::parse(STREAMS)?;
    let (from, to) = (net.a.mac("eth0")?, net.b.mac("eth0")?);
    streams.streams.iter_mut().for_each(|stream| stream.address(from, Some(to)));
    let load = Load::Streams(streams.templates(1500)?);

    let sink = net.b.run(|| Sink::start(&SinkConfig::new("eth0")))??;
    let config = Config {
        profile: "10kpps..200kpps over 1s".parse()?,
        duration: Some(Duration::from_secs(3)),
        ..Config::new("eth0", load)
    };
    let generator = net.a.run(|| Generator::start(config))??;
    thread::sleep(Duration::from_secs(2));
    println!("after two seconds: {} frames", generator.snapshot()?.sent);
    generator.set_profile("50kpps".parse()?)?;
    let report = generator.wait()?;
    println!(
        "sent {} at {:.0} pps, not sent {}",
        report.totals.sent, report.pps, report.totals.not_sent
    );
    for stream in sink.stop()?.streams {
        println!("stream {}: {} received, {} lost", stream.id, stream.received, stream.lost);
    }
    Ok(())
}
