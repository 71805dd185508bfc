//! Two hosts and a flood between them, dropped in the driver of the second. Needs root; touches
//! nothing outside of the two namespaces that it makes, and removes them.
//!
//! `cargo build -p xway-examples && sudo target/debug/04-two-hosts`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::time::Duration;

use anyhow::Result;
use functions::drop::{self, Config, Maps, Reason};
use functions::stats::{self, Stats};
use kernel::{Attach, LoadOptions, Mode, Object, Replace};
use lab::frame::{Flow, Side};
use lab::{LinkOptions, TwoHosts};
use spec::{Spec, Verdict};
use traffic::generator::{self, Generator, Load};
use traffic::{Rate, Template};

fn main() -> Result<()> {
    let net = TwoHosts::build(&LinkOptions::default())?;
    let side = |host: &lab::Host, port| -> Result<Side> {
        Ok(Side { mac: host.mac("eth0")?, ip: host.ipv4("eth0")?.into(), port })
    };
    let frame = Flow::new(side(&net.a, 1)?, side(&net.b, 1234)?).udp_of_length(60)?;

    let config = Config { rules: vec!["any udp 1234".parse()?], ..Config::default() };
    let object = Object::load(&Spec::parse("drop", drop::OBJECT)?, &LoadOptions::default())?;
    drop::update(&config, &Maps::find(|name| object.map(name))?)?;
    let attach = Attach {
        ifindex: net.b.ifindex("eth0")?,
        program: object.program(drop::PROGRAM)?,
        mode: Mode::Native,
        replace: Replace::No,
    };
    let _attached = net.b.run(|| kernel::attach(&attach))??;

    let load = Load::Streams(vec![Template::constant("flood", frame)]);
    let flood = generator::Config {
        profile: Rate::PacketsPerSecond(200_000.0).into(),
        duration: Some(Duration::from_secs(2)),
        ..generator::Config::new("eth0", load)
    };
    let report = net.a.run(|| Generator::start(flood))??.wait()?;
    let labels: Vec<String> = Reason::ALL.iter().map(|reason| reason.label().into()).collect();
    let dropped = Stats::read(object.map(stats::MAP)?, &labels)?.verdict(Verdict::Drop);
    println!("sent {} at {:.0} pps, dropped {}", report.totals.sent, report.pps, dropped.packets);
    Ok(())
}
