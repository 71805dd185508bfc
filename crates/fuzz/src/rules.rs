//! Rules of the filter in each notation.

use std::path::Path;

use filter::import_export::iptables::{self, Family};
use filter::import_export::nft::{self, Lines};
use filter::import_export::{ImportOptions, Imported, flowspec};
use filter::language::classic::{Classic, Program};
use filter::language::file as rules_file;
use filter::language::lint::lint;
use filter::{File, Ruleset};

/// A file of rules is checked and exported, and what is written reads as the same rules.
pub fn file(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    // No set is read from a file: the folder does not exist.
    let folder = Path::new("/nonexistent");
    if has_path(text) {
        return;
    }
    let Ok(file) = File::parse("rules.toml", text, folder, compile) else { return };
    let _ = lint(&file);
    exported(&file.ruleset);
    let written = file.to_toml();
    let again = File::parse("written.toml", &written, folder, compile);
    let again = again.unwrap_or_else(|errors| panic!("{errors:?}\n{written}"));
    assert_eq!(again.ruleset, file.ruleset, "{written}");
}

/// An absolute path, which may be a file of this machine.
fn has_path(text: &str) -> bool {
    text.contains("file") && (text.contains("\"/") || text.contains("'/") || text.contains('\\'))
}

/// In place of libpcap: any expression is this program.
fn compile(text: &str) -> Result<Program, String> {
    let accept = u32::from(text.len().is_multiple_of(2));
    let end = Classic { code: 0x06, jump_true: 0, jump_false: 0, k: accept };
    Program::new(&[end]).map_err(|error| error.to_string())
}

fn exported(rules: &Ruleset) {
    let _ = nft::export(rules, "eth0");
    if let Ok(text) = flowspec::export(rules) {
        flowspec::import(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}

/// A list of addresses, one a line.
pub fn set_list(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    let Ok(addresses) = rules_file::parse_list("list.txt", text) else { return };
    let written: Vec<String> = addresses.items().collect();
    let again = rules_file::parse_list("written.txt", &written.join("\n")).expect("own list");
    assert_eq!((again.v4, again.v6), (addresses.v4, addresses.v6), "{written:?}");
}

/// FlowSpec routes.
pub fn flowspec(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    if let Ok(rules) = flowspec::import(text) {
        exported(&rules);
    }
}

/// `nft -j list ruleset`.
pub fn nft_json(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    if let Ok(rules) = nft::import(text, None) {
        exported(&rules);
    }
    if let Ok(imported) = nft::import_as(text, &Lines::default(), &PARTIAL) {
        written(imported);
    }
}

/// `iptables-save` and `ip6tables-save`.
pub fn iptables(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    if let Ok(imported) = iptables::import(text, Family::V4, &ImportOptions::default()) {
        assert!(imported.left_out.is_empty(), "{:?}", imported.left_out);
        exported(&imported.ruleset);
    }
    if let Ok(imported) = iptables::import(text, Family::V4, &PARTIAL) {
        written(imported);
    }
}

const PARTIAL: ImportOptions<'_> = ImportOptions { chain: None, partial: true, approximate: true };

/// What was imported is a rule file.
fn written(imported: Imported) {
    let rules = imported.ruleset.rules.len();
    let text = imported.to_toml();
    let file = File::parse("imported.toml", &text, Path::new("/nonexistent"), compile);
    let file = file.unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    assert_eq!(file.ruleset.rules.len(), rules, "{text}");
}
/// An nft listing: where its rules stand.
pub fn nft_text(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    let _ = Lines::of(text);
}
