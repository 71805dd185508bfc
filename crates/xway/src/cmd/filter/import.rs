//! `filter import` and `filter export`: rules from and for other tools, as text.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use control::filter::source::read;
use control::text;
use filter::import_export::iptables::{self, Family};
use filter::import_export::nft::{self, Lines};
use filter::import_export::{ImportOptions, Imported, flowspec};

use super::nft::{Helper, Request};
use crate::args::{FilterExportArgs, FilterImportArgs, ForeignExport, ForeignImport};
use crate::cmd::{Context, Exit, confine};
use crate::view;
use crate::view::filter::import::Translated;

pub fn import(args: &FilterImportArgs, context: &Context) -> Result<Exit> {
    let options = ImportOptions {
        chain: args.chain.as_deref(),
        partial: args.partial,
        approximate: args.approximate || args.partial,
    };
    let imported = match args.from {
        ForeignImport::Nft => nft_rules(&args.file, &options)?,
        ForeignImport::Iptables => iptables_rules(&args.file, Family::V4, &options)?,
        ForeignImport::Ip6tables => iptables_rules(&args.file, Family::V6, &options)?,
        ForeignImport::Flowspec => {
            confined(&args.file)?;
            flowspec::import(&text::read(&args.file)?)?.into()
        }
    };
    let translated = Translated {
        format: "toml",
        rules: imported.ruleset.rules.len(),
        left_out: imported.left_out.clone(),
        approximations: imported.approximations.clone(),
        text: imported.to_toml(),
    };
    context.show(&translated)?;
    if let Some(summary) = translated.summary() {
        view::say(&format!("xway: {summary}"));
    }
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
            let device = args.device.as_deref().context("nft needs --dev")?;
            ("nft", nft::export(&file.ruleset, device)?)
        }
        ForeignExport::Flowspec => ("flowspec", flowspec::export(&file.ruleset)?),
    };
    context.show(&Translated { format, rules, text, ..Translated::default() })?;
    Ok(Exit::Done)
}

/// Text is listed by nft, which takes rights and another program. A child process that is started
/// first keeps them; this one gives them up before it reads the file. A file that is JSON by its
/// name needs no child.
fn nft_rules(file: &Path, options: &ImportOptions<'_>) -> Result<Imported> {
    let is_json_file = file.extension().is_some_and(|extension| extension == "json");
    let helper = if is_json_file { None } else { Some(Helper::start()?) };
    confined(file)?;
    let text = text::read(file)?;
    let (json, lines) = match helper {
        Some(helper) if !text.trim_start().starts_with('{') => {
            // Also refuses what nft would read from other files, so it is first.
            let lines = Lines::of(&text)?;
            (helper.list(&Request { devices: devices(&text), text })?, lines)
        }
        _ => (text, Lines::default()),
    };
    Ok(nft::import_as(&json, &lines, options)?)
}

fn iptables_rules(file: &Path, family: Family, options: &ImportOptions<'_>) -> Result<Imported> {
    confined(file)?;
    Ok(iptables::import(&text::read(file)?, family, options)?)
}

/// From here on, only this file is read.
fn confined(file: &Path) -> Result<()> {
    let mut named = confine::begin()?;
    named.input(file);
    named.end()
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
