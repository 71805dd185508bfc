//! Listing rules of nft as JSON, which nft does in a network namespace of its own.
//!
//! Rule: the process that parses text has no rights, and the process that has rights parses no
//! text. The first one sends a [`Request`] to the second one, a child process that it started
//! before it was confined. The child makes the namespace and the devices, and limits nft to
//! reading installed files, to `CAP_NET_ADMIN`, in time and in the length of its output.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use control::text;
use serde::{Deserialize, Serialize};
use sys::cap::Cap;
use sys::net::{Netlink, NewVeth, VethEnd};

use crate::cmd::Exit;

/// Rules to be listed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// Names of the devices that the chains are bound to.
    pub devices: BTreeSet<String>,
    pub text: String,
}

/// The answer of the child process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Listing(String),
    Error(String),
}

/// The child process, which waits for a request. Without one, it ends when this value is dropped.
#[derive(Debug)]
pub struct Helper(Child);

impl Helper {
    /// Starts the child process with the rights that this process has.
    pub fn start() -> Result<Self> {
        let program = std::env::current_exe().context("the path of xway is unknown")?;
        let mut command = Command::new(program);
        command.args(["filter", COMMAND]).stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self(command.spawn().context("the process that runs nft cannot be started")?))
    }

    /// nft's JSON for the rules of the request.
    pub fn list(mut self, request: &Request) -> Result<String> {
        let request = serde_json::to_vec(request)?;
        let mut pipe = self.0.stdin.take().context("the helper process has no input")?;
        pipe.write_all(&request).context("the process that runs nft has ended")?;
        // Its end is the end of the request.
        drop(pipe);
        let pipe = self.0.stdout.take().context("the helper process has no output")?;
        let answer = text::bounded(pipe, MESSAGE).context("the answer of nft")?;
        let answer = serde_json::from_str(&answer);
        match answer.context("the process that runs nft has ended without an answer")? {
            Answer::Listing(json) => Ok(json),
            Answer::Error(error) => Err(anyhow!(error)),
        }
    }
}

/// The child process: reads one request from standard input and answers on standard output.
pub fn serve() -> Result<Exit> {
    let request = text::bounded(std::io::stdin(), MESSAGE).context("the rules for nft")?;
    if request.is_empty() {
        return Ok(Exit::Done);
    }
    let request: Request = serde_json::from_str(&request).context("the rules for nft")?;
    let answer = match listed(&request) {
        Ok(json) => Answer::Listing(json),
        Err(error) => Answer::Error(format!("{error:#}")),
    };
    std::io::stdout().write_all(&serde_json::to_vec(&answer)?)?;
    Ok(Exit::Done)
}

fn listed(request: &Request) -> Result<String> {
    let work = || {
        ensure!(
            request.devices.len() <= DEVICES,
            "the chains are bound to more than {DEVICES} devices: import them in parts"
        );
        for device in &request.devices {
            make(device).with_context(|| format!("making a device {device} for nft"))?;
        }
        sys::confine::only_installed_programs(&[Cap::NetAdmin])?;
        nft(&["-f", "-"], &request.text)?;
        nft(&["-j", "list", "ruleset"], "")
    };
    sys::thread::in_private_network(work).context(
        "text is read by nft in a namespace of its own, which needs root; \
         JSON of `nft -j list ruleset` does not",
    )?
}

/// Makes a veth pair, of which only the end with this name is used.
fn make(device: &str) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let peer = format!("p{}", netlink.links()?.len());
    let end = |name| VethEnd { name, mac: None, netns: None };
    netlink.create_veth(&NewVeth { ends: [end(device), end(&peer)], queues: 1, mtu: 1500 })?;
    Ok(())
}

/// Runs nft and returns its output.
fn nft(words: &[&str], input: &str) -> Result<String> {
    let mut command = Command::new("nft");
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("nft was not found in PATH: install it, or use the JSON of `nft -j list ruleset`")
        }
        Err(error) => return Err(error).context("nft does not start"),
    };
    let outcome = exchange(&mut child, input);
    if outcome.is_err() {
        child.kill().context("nft cannot be ended")?;
    }
    let status = child.wait().context("waiting for nft")?;
    let [output, errors] = outcome?;
    ensure!(status.success(), "nft: {}", errors.trim());
    Ok(output)
}

/// Writes the input and reads both outputs, within [`TIME`].
fn exchange(child: &mut Child, input: &str) -> Result<[String; 2]> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (sender, outputs) = mpsc::channel();
    let read = |number: usize, pipe: Box<dyn Read + Send>, sender: mpsc::Sender<_>| {
        // Nothing receives it after the time limit.
        let read = move || _ = sender.send((number, text::bounded(pipe, text::LIMIT)));
        sys::thread::spawn("nft-output", read)
    };
    read(0, Box::new(stdout.context("nft has no output")?), sender.clone())?;
    read(1, Box::new(stderr.context("nft has no output")?), sender)?;
    let (mut stdin, input) = (stdin.context("nft has no input")?, input.to_owned());
    // nft may end before it has read everything: then it prints why.
    sys::thread::spawn("nft-input", move || _ = stdin.write_all(input.as_bytes()))?;
    let mut texts = [String::new(), String::new()];
    for _ in 0..texts.len() {
        let received = outputs.recv_timeout(TIME);
        let (number, text) = received.map_err(|_| anyhow!("nft timed out after {TIME:?}"))?;
        texts[number] = text.context("the output of nft")?;
    }
    Ok(texts)
}

/// The hidden subcommand of `filter` that the child process runs.
const COMMAND: &str = "nft-helper";
/// Bytes of a request or an answer: a text in JSON, where escapes take more.
const MESSAGE: u64 = 2 * text::LIMIT;
/// Devices that one request makes.
const DEVICES: usize = 256;
/// Time for either output of one run of nft.
const TIME: Duration = Duration::from_secs(120);
