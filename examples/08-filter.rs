//! A filter on an interface, from a program: load rules, read what they count, change them, unload.
//! Needs root; touches nothing outside of the two namespaces that it makes, and removes them.
//!
//! `cargo build -p xway-examples && sudo target/debug/08-filter`; a further word is the state
//! directory, /run/xway without one.
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;

use anyhow::Result;
use control::Control;
use control::filter::ApplyOptions;
use control::filter::monitor::FilterMonitor;
use control::filter::source::expression;
use control::filter::update::Update;
use filter::File;
use lab::{LinkOptions, TwoHosts};

fn main() -> Result<()> {
    let state = std::env::args().nth(1).unwrap_or_else(|| "/run/xway".to_owned());
    let control = Control::new(&state);
    let net = TwoHosts::build(&LinkOptions::default())?;
    let server = net.b.ipv4("eth0")?;
    net.b.run(|| load(&control))??;
    for port in [53, 123, 123] {
        net.a.run(|| send(server, port))??;
    }
    net.b.run(|| change(&control))??;
    Ok(())
}

/// Loads a rule. The program remains attached after this process ended, until it is unloaded.
fn load(control: &Control) -> Result<()> {
    let text = "rules = [\"time: drop udp dport 123\"]\n";
    let file = File::parse("rules", text, Path::new(""), expression)?;
    let report = Update::begin(control, "eth0")?.apply(&file, &ApplyOptions::default())?;
    println!("loaded {:?} in {} mode", report.rules, report.mode);
    Ok(())
}

/// Reads the counters, adds a rule, unloads the filter.
fn change(control: &Control) -> Result<()> {
    let report = FilterMonitor::new(control, "eth0")?.read()?;
    for rule in &report.rules {
        println!("{}: {} matched {} packets", rule.name, rule.text, rule.rate.packets);
    }
    let update = Update::begin(control, "eth0")?;
    let mut file = update.rules()?.unwrap_or_default();
    file.insert(usize::MAX, "dns: limit 1000pps per source udp dport 53")?;
    println!("now {:?}", update.apply(&file, &ApplyOptions::default())?.rules);
    println!("unloaded {:?}", update.unload()?.programs);
    Ok(())
}

fn send(to: Ipv4Addr, port: u16) -> Result<()> {
    UdpSocket::bind("0.0.0.0:0")?.send_to(b"hello", (to, port))?;
    Ok(())
}
