//! `filter import` and `filter export`: rules from and for other tools, as text.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use functions::filter::import::nft::Lines;
use functions::filter::{Ruleset, export, import};
use sys::net::{Netlink, NewVeth, VethEnd};

use super::rules::read;
use crate::args::{FilterExportArgs, FilterImportArgs, ForeignExport, ForeignImport};
use crate::cmd::{Context, Exit, confine};
use crate::view::filter::import::Translated;

pub fn import(args: &FilterImportArgs, context: &Context) -> Result<Exit> {
    let ruleset = match args.from {
        ForeignImport::Nft => nft_rules(args)?,
        ForeignImport::Flowspec => {
            confined(&args.file)?;
            import::flowspec::read(&text(&args.file)?)?
        }
    };
    let rules = ruleset.rules.len();
    let text = import::file(ruleset).to_toml();
    context.show(&Translated { format: "toml", rules, text })?;
    Ok(Exit::Done)
}

pub fn export(args: &FilterExportArgs, context: &Context) -> Result<Exit> {
    let mut named = confine::begin()?;
    named.rules(&args.file);
    named.end()?;
    let file = read(&args.file)?;
    let rules = file.ruleset.rules.len();
    let (format, text) = match args.to {
        ForeignExport::Nft => {
            let device = args.device.as_deref().context("nft needs --device")?;
            ("nft", export::nft(&file.ruleset, device)?)
        }
        ForeignExport::Flowspec => ("flowspec", export::flowspec(&file.ruleset)?),
    };
    context.show(&Translated { format, rules, text })?;
    Ok(Exit::Done)
}

/// Text is listed by nft, which takes rights and another program, before this process gives both
/// up to parse the answer. A file that is JSON by its name needs neither.
fn nft_rules(args: &FilterImportArgs) -> Result<Ruleset> {
    let is_json_file = args.file.extension().is_some_and(|extension| extension == "json");
    if is_json_file {
        confined(&args.file)?;
    }
    let text = text(&args.file)?;
    let is_json = text.trim_start().starts_with('{');
    // Also refuses what nft would read from other files, so it is first.
    let lines = if is_json { Lines::default() } else { Lines::of(&text)? };
    let json = if is_json { text } else { listed(&text)? };
    if !is_json_file {
        confined(&args.file)?;
    }
    Ok(import::nft::read_text(&json, &lines, args.chain.as_deref())?)
}

/// From here on, only this file is read.
fn confined(file: &Path) -> Result<()> {
    let mut named = confine::begin()?;
    named.input(file);
    named.end()
}

fn text(file: &Path) -> Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// nft's own words as JSON: it takes them in a network namespace of their own, and lists them.
fn listed(text: &str) -> Result<String> {
    let work = || {
        for device in devices(text) {
            make(&device).with_context(|| format!("making a device {device} for nft"))?;
        }
        nft(&["-f", "-"], text)?;
        nft(&["-j", "list", "ruleset"], "")
    };
    sys::thread::in_private_network(work).context(
        "text is read by nft in a namespace of its own, which needs root; \
         JSON of `nft -j list ruleset` does not",
    )?
}

/// The devices that its chains are bound to.
fn devices(text: &str) -> BTreeSet<String> {
    let signs = |letter: char| letter.is_whitespace() || "={},;".contains(letter);
    let mut devices = BTreeSet::new();
    for line in text.lines().filter(|line| line.contains("hook")) {
        let mut words = line.split(signs).filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            if word == "device" {
                devices.extend(words.next().map(|name| name.trim_matches('"').to_owned()));
            } else if word == "devices" {
                let names = words.by_ref().take_while(|word| *word != "priority");
                devices.extend(names.map(|name| name.trim_matches('"').to_owned()));
            }
        }
    }
    devices.remove("lo");
    devices
}

/// With a peer of which nobody asks.
fn make(device: &str) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let peer = format!("p{}", netlink.links()?.len());
    let end = |name| VethEnd { name, mac: None, netns: None };
    netlink.create_veth(&NewVeth { ends: [end(device), end(&peer)], queues: 1, mtu: 1500 })?;
    Ok(())
}

fn nft(words: &[&str], input: &str) -> Result<String> {
    let mut command = Command::new("nft");
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("there is no nft in PATH: install it, or give JSON of `nft -j list ruleset`")
        }
        Err(error) => return Err(error).context("nft does not start"),
    };
    // It may end before it has read everything: then it says why.
    let _unread = child.stdin.take().map(|mut pipe| pipe.write_all(input.as_bytes()));
    let output = child.wait_with_output().context("waiting for nft")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "nft: {}", said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_chains() {
        let text =
            "table netdev t {\n chain a { type filter hook ingress device \"eth7\" priority 0; }
            chain b { type filter hook ingress devices = { v1, \"v2\" } priority 5; }
            chain c { iifname device }\n chain d { hook ingress device lo priority 0; } }";
        let devices: Vec<_> = devices(text).into_iter().collect();
        assert_eq!(devices, ["eth7", "v1", "v2"]);
    }
}
