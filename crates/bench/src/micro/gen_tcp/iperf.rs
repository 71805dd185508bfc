//! `iperf3`: client and server in the two hosts, and the values of its report.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::TwoHosts;
use serde_json::Value;

use super::{LINK, Outcome};

/// One run of `streams` streams.
pub fn measure(iperf: &Path, net: &TwoHosts, streams: u32, window: Duration) -> Result<Outcome> {
    let program = iperf.to_string_lossy();
    let ip = net.b.ipv4(LINK)?.to_string();
    let mut command = net.b.command(&program)?;
    command.args(["-s", "-1", "-B", &ip]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut server = net.b.start(command)?;
    lab::until("the iperf3 server", super::judge::START, || is_listening(net))?;
    let mut command = net.a.command(&program)?;
    command.args(["-c", &ip, "--json", "-P", &streams.to_string()]);
    // Its first moments are left out, as they are for the others.
    command.args(["-O", "1", "-t", &window.as_secs_f64().ceil().to_string()]);
    let output = command.output().context("iperf3")?;
    let ended = server.wait()?;
    ensure!(output.status.success() && ended.success(), "iperf3: {}", text(&output.stdout));
    read(&output.stdout)
}

fn read(json: &[u8]) -> Result<Outcome> {
    let report: Value = serde_json::from_slice(json)?;
    let number = |name: &str| {
        report.pointer(name).and_then(Value::as_f64).with_context(|| format!("iperf3: {name}"))
    };
    let segments = number("/end/sum_sent/bytes")? / SEGMENT;
    let repeated = number("/end/sum_sent/retransmits")? / segments;
    Ok(Outcome { goodput_bps: number("/end/sum_received/bits_per_second")?, repeated })
}

fn is_listening(net: &TwoHosts) -> lab::Result<Option<()>> {
    // A connection would be taken for the client's, so its entry is looked for.
    let table = net.b.run(|| std::fs::read_to_string("/proc/thread-self/net/tcp"))?;
    let port = format!(":{IPERF_PORT:04X} 00000000:0000 0A");
    Ok(table.unwrap_or_default().contains(&port).then_some(()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(400).collect()
}

const IPERF_PORT: u16 = 5201;
/// Payload of a full segment with timestamps.
const SEGMENT: f64 = 1448.0;
