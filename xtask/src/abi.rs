//! `cargo xtask abi`: `abi.rs` in the folder of a program's Rust half (`HALVES`) from the types of
//! the compiled program in `bpf/prebuilt/`.
//!
//! Rule: what a program and its Rust half share is declared once, in `bpf/X/x.abi.h`. From there
//! come all structs and enums whose names begin with `x_`, and `enum xway_reason` as `Reason`. A
//! struct of `bpf/include/xway/` has one Rust type, in the file of one program ([`SHARED`]).
//! Network-order fields (`__be16`, `__be32`) become byte arrays, so that code cannot calculate with
//! them by mistake. Not here: how one type is written as Rust (`rust`).

mod rust;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use spec::Spec;
use spec::btf::Type;

use crate::root;

/// Writes all layouts.
pub fn write() -> Result<()> {
    for layout in layouts()? {
        fs::write(&layout.path, &layout.text).with_context(|| layout.path.display().to_string())?;
        println!("{}", relative(&layout.path));
    }
    Ok(())
}

/// Fails with the names of layouts that are not what the objects define.
pub fn check() -> Result<()> {
    let layouts = layouts()?;
    let stale: Vec<String> = layouts
        .iter()
        .filter(|layout| fs::read_to_string(&layout.path).ok().as_ref() != Some(&layout.text))
        .map(|layout| relative(&layout.path))
        .collect();
    ensure!(stale.is_empty(), "stale; run `cargo xtask abi`:\n  {}", stale.join("\n  "));
    println!("{} layouts match their objects", layouts.len());
    Ok(())
}

/// A generated file before it is written.
struct Layout {
    path: PathBuf,
    text: String,
}

/// One for each folder of the crates that have a program with a header of its own for both sides.
fn layouts() -> Result<Vec<Layout>> {
    let root = root::path();
    let mut layouts = Vec::new();
    for (name, program, folder) in HALVES {
        let object = root.join("bpf/prebuilt").join(format!("{program}.o"));
        let text = generate(name, program, &object).with_context(|| relative(&object))?;
        layouts.push(Layout { path: root.join(folder).join("abi.rs"), text: format(&text)? });
    }
    layouts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(layouts)
}

fn generate(function: &str, program: &str, object: &Path) -> Result<String> {
    let bytes = fs::read(object).context("run `cargo xtask bpf` first")?;
    let spec = Spec::parse(function, &bytes)?;
    let btf = spec.btf.context("the object has no BTF")?;
    let mut text = rust::head(function, &folder(program)?, program);
    for (struct_name, owner, import) in SHARED {
        let imports = function == program && function != *owner;
        if imports && btf.find_all(struct_name).next().is_some() {
            text.push_str(import);
        }
    }
    let mut types: Vec<Type<'_>> =
        btf.types().filter(|ty| shared(function, program, *ty)).collect();
    types.sort_by_key(|ty| (!ty.kind().is_enum(), ty.name()));
    for ty in types {
        text.push_str(&rust::definition(&btf, function, ty)?);
    }
    Ok(text)
}

/// The folder of `bpf` that has the source of a program.
fn folder(program: &str) -> Result<String> {
    let source = format!("{program}.bpf.c");
    let folders = fs::read_dir(root::path().join("bpf")).context("bpf")?;
    let found = folders.flatten().find(|folder| folder.path().join(&source).exists());
    let found = found.with_context(|| format!("no folder of bpf has {source}"))?;
    Ok(found.file_name().to_string_lossy().into_owned())
}

/// Whether the Rust half needs this type, too.
fn shared(function: &str, program: &str, ty: Type<'_>) -> bool {
    let defines = ty.kind().is_composite() || ty.kind().is_enum();
    let is_its = |(name, owner, _): &(&str, &str, &str)| ty.name() == *name && function == *owner;
    let is_own = ty.name().starts_with(&format!("{function}_")) || SHARED.iter().any(is_its);
    defines && (is_own || (ty.name() == REASON && function == program))
}

fn format(text: &str) -> Result<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root::path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("rustfmt is missing: rustup component add rustfmt")?;
    let mut stdin = rustfmt.stdin.take().context("rustfmt's input")?;
    stdin.write_all(text.as_bytes())?;
    drop(stdin);
    let output = rustfmt.wait_with_output()?;
    ensure!(output.status.success(), "rustfmt refused the generated text");
    Ok(String::from_utf8(output.stdout)?)
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root::path()).unwrap_or(path).display().to_string()
}

const REASON: &str = "xway_reason";
/// Structs that several programs have, the one whose file defines each, and the import of others.
const SHARED: &[(&str, &str, &str)] = &[
    ("xway_decision", "capture", "\npub use functions::capture::abi::Decision;\n"),
    ("xway_port", "route", "\npub use crate::route::abi::Port;\n"),
];

/// What types are named after, the program that has them, and the folder of its Rust half.
const HALVES: &[(&str, &str, &str)] = &[
    ("answer", "answer", "crates/traffic/src/scan/answer"),
    ("backend", "backend", "crates/functions/src/backend"),
    ("balancer", "balancer", "crates/functions/src/balancer"),
    ("capture", "capture", "crates/functions/src/capture"),
    ("drop", "drop", "crates/functions/src/drop"),
    ("filter", "filter", "crates/filter/src"),
    ("losses", "losses", "crates/functions/src/losses"),
    ("quic", "balancer", "crates/functions/src/balancer/quic"),
    ("redirect", "redirect", "crates/xsk/src/steer/redirect"),
    ("route", "route", "crates/functions/src/route"),
    ("scan", "scan", "crates/traffic/src/scan"),
    ("sink", "sink", "crates/traffic/src/sink"),
    ("tcp", "tcp", "crates/traffic/src/tcp"),
    ("transmit", "transmit", "crates/traffic/src/transmit"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use spec::btf::{Btf, Builder};

    /// `struct x_key { __be32 address[4]; __be16 port; __u8 side; __u8 pad; __u32 n[2]; }`
    fn sample() -> Btf {
        let mut types = Builder::new();
        let u8 = types.int("unsigned char", 8, false);
        let u16 = types.int("unsigned short", 16, false);
        let u32 = types.int("unsigned int", 32, false);
        let (be16, be32) = (types.typedef("__be16", u16), types.typedef("__be32", u32));
        let address = types.array(be32, u32, 4);
        let pair = types.array(u32, u32, 2);
        let fields = [
            ("address", address, 0),
            ("port", be16, 16 * 8),
            ("side", u8, 18 * 8),
            ("pad", u8, 19 * 8),
            ("n", pair, 20 * 8),
        ];
        let key = types.structure("x_key", 28, &fields);
        let keys = types.array(key, u32, 3);
        types.structure("x_keys", 84, &[("all", keys, 0)]);
        types.enumeration("xway_reason", &[("XWAY_TOO_MANY_TAGS", 0), ("XWAY_RULE", 4)]);
        types.enumeration("x_mode", &[("X_MODE_OFF", 0), ("X_MODE_ON", 1)]);
        types.structure("other", 4, &[("n", u32, 0)]);
        types.build().unwrap()
    }

    fn text_of(btf: &Btf, name: &str) -> String {
        let ty = btf.find_all(name).next().unwrap();
        rust::definition(btf, "x", ty).unwrap()
    }

    #[test]
    fn network_order_becomes_bytes_and_offsets_are_those_of_c() {
        let text = text_of(&sample(), "x_key");
        for line in [
            "pub struct Key {",
            "pub address: [u8; 16],",
            "pub port: [u8; 2],",
            "pub side: u8,",
            "pub n: [u32; 2],",
            "pub const SIZE: usize = 28;",
            "bytes[16..18].copy_from_slice(&self.port);",
            "bytes[18] = self.side;",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
    }

    #[test]
    fn nested_structs_are_arrays_of_their_types() {
        assert!(text_of(&sample(), "x_keys").contains("pub all: [Key; 3],"));
    }

    #[test]
    fn reasons_keep_their_numbers_and_get_labels() {
        let text = text_of(&sample(), "xway_reason");
        for line in ["pub enum Reason {", "Rule = 4,", "Self::TooManyTags => \"too-many-tags\""] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
    }

    #[test]
    fn variants_do_not_repeat_the_enum() {
        let text = text_of(&sample(), "x_mode");
        assert!(text.contains("pub enum Mode {") && text.contains("On = 1,"), "{text}");
    }

    #[test]
    fn only_the_functions_own_types_are_taken() {
        let btf = sample();
        let taken: Vec<&str> =
            btf.types().filter(|ty| shared("x", "x", *ty)).map(|ty| ty.name()).collect();
        assert_eq!(taken, ["x_key", "x_keys", "xway_reason", "x_mode"]);
    }

    #[test]
    fn layouts_with_holes_are_refused() {
        let mut types = Builder::new();
        let u32 = types.int("unsigned int", 32, false);
        types.structure("x_hole", 12, &[("a", u32, 0), ("b", u32, 64)]);
        let btf = types.build().unwrap();
        let ty = btf.find_all("x_hole").next().unwrap();
        let error = rust::definition(&btf, "x", ty).unwrap_err();
        assert!(error.to_string().contains("padding"), "{error}");
    }
}
