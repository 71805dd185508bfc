//! `cargo xtask header`: `xway_xsk.h` from the functions and types of `crates/xsk-c` that C sees.
//!
//! Rule: declarations and comments in C are generated from those in Rust; nothing is written twice.
//! Names that C has for types are in `NAMES` alone.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use cbindgen::{Builder, Config, EnumConfig, ExportConfig, ItemType, Language, RenameRule};

use crate::root;

pub fn write() -> Result<()> {
    let path = path();
    fs::write(&path, text()?).with_context(|| path.display().to_string())?;
    println!("{PATH}");
    Ok(())
}

pub fn check() -> Result<()> {
    let there = fs::read_to_string(path()).unwrap_or_default();
    ensure!(there == text()?, "stale; run `cargo xtask header`:\n  {PATH}");
    println!("{PATH} matches the crate");
    Ok(())
}

fn path() -> PathBuf {
    root::path().join(PATH)
}

fn text() -> Result<String> {
    let manifest = fs::read_to_string(root::path().join("Cargo.toml"))?;
    let version = version(&manifest).context("Cargo.toml has no version of the workspace")?;
    let config = Config {
        language: Language::C,
        style: cbindgen::Style::Tag,
        cpp_compat: true,
        header: Some(HEAD.to_owned()),
        after_includes: Some(format!("\n#define XWAY_XSK_VERSION \"{version}\"")),
        include_guard: Some("XWAY_XSK_H".to_owned()),
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        usize_is_size_t: true,
        documentation: true,
        line_length: 90,
        tab_width: 8,
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        export: ExportConfig {
            include: NAMES.iter().map(|(rust, _)| (*rust).to_owned()).collect(),
            rename: NAMES.iter().map(|(rust, c)| ((*rust).to_owned(), (*c).to_owned())).collect(),
            item_types: vec![
                ItemType::Enums,
                ItemType::OpaqueItems,
                ItemType::Structs,
                ItemType::Functions,
            ],
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let bindings = Builder::new()
        .with_crate(root::path().join("crates/xsk-c"))
        .with_config(config)
        .generate()?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(String::from_utf8(text)?)
}

/// The version of the workspace.
fn version(manifest: &str) -> Option<&str> {
    let (_, package) = manifest.split_once("[workspace.package]")?;
    let (_, rest) = package.split_once("version = \"")?;
    rest.split('"').next()
}

const PATH: &str = "crates/xsk-c/include/xway_xsk.h";

const HEAD: &str = "\
/*
 * AF_XDP sockets: packets between an interface's queue and this process, past the stack.
 *
 * Functions return 0 or a count, or a negative number of enum xway_xsk_error; xway_xsk_error()
 * then returns a message with the reason and the remedy. A handle that is closed or of another
 * kind, or that two threads use at the same time, is an error, as is a NULL. The caller must
 * guarantee what cannot be checked: memory that a pointer names has the stated size, and nothing
 * changes it during the call.
 *
 * Written by `cargo xtask header`; change the Rust side. See xway_xsk(3).
 */";

/// Types, in the order in which they are to be found: as Rust calls them, and as C does.
const NAMES: &[(&str, &str)] = &[
    ("Code", "xway_xsk_error"),
    ("Pages", "xway_xsk_pages"),
    ("CopyMode", "xway_xsk_mode"),
    ("WaitBy", "xway_xsk_wait"),
    ("SteerWhat", "xway_xsk_steer"),
    ("XdpMode", "xway_xsk_xdp"),
    ("UmemHandle", "xway_xsk_umem"),
    ("InterfaceHandle", "xway_xsk_interface"),
    ("TxHandle", "xway_xsk_tx"),
    ("RxHandle", "xway_xsk_rx"),
    ("UmemOptions", "xway_xsk_umem_options"),
    ("InterfaceOptions", "xway_xsk_interface_options"),
    ("SocketOptions", "xway_xsk_socket_options"),
    ("UmemInfo", "xway_xsk_umem_info"),
    ("InterfaceInfo", "xway_xsk_interface_info"),
    ("TxStats", "xway_xsk_tx_stats"),
    ("RxStats", "xway_xsk_rx_stats"),
    ("Known", "xway_xsk_known"),
    ("ReceivedInfo", "xway_xsk_received"),
    ("SentAt", "xway_xsk_sent_at"),
    ("Packet", "xway_xsk_packet"),
    ("CFrame", "xway_xsk_frame"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_workspaces() {
        let manifest =
            "[a]\nversion = \"9\"\n[workspace.package]\nversion = \"1.2.3\"\nb = \"4\"\n";
        assert_eq!(version(manifest), Some("1.2.3"));
        assert_eq!(version("[package]\nversion = \"1\"\n"), None);
    }
}
