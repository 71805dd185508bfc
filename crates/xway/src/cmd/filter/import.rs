//! `filter import` and `filter export`: rules from and for other tools, as text.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use control::filter::source::read;
use filter::import::nft::Lines;
use filter::{Ruleset, export, import};

use super::nft::{Helper, Request};
use crate::args::{FilterExportArgs, FilterImportArgs, ForeignExport, ForeignImport};
use crate::cmd::{Context, Exit, confine};
use crate::text;
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

/// Text is listed by nft, which takes rights and another program. A child process that is started
/// first keeps them; this one gives them up before it reads the file. A file that is JSON by its
/// name needs no child.
fn nft_rules(args: &FilterImportArgs) -> Result<Ruleset> {
    let is_json_file = args.file.extension().is_some_and(|extension| extension == "json");
    let helper = if is_json_file { None } else { Some(Helper::start()?) };
    confined(&args.file)?;
    let text = text(&args.file)?;
    let (json, lines) = match helper {
        Some(helper) if !text.trim_start().starts_with('{') => {
            // Also refuses what nft would read from other files, so it is first.
            let lines = Lines::of(&text)?;
            (helper.list(&Request { devices: devices(&text), text })?, lines)
        }
        _ => (text, Lines::default()),
    };
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
        let text = text::bounded(std::io::stdin(), text::LIMIT);
        return text.context("cannot read standard input");
    }
    text::read(file)
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
