//! Where the peers come from: a given directory, else they are built from `bench/peers/xsk`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Environment variable that names a folder with the peers' programs.
pub const FOLDER: &str = "XSK_PEERS";

/// A program that was found or built, or the reason why there is none.
pub type Found = Result<PathBuf>;

/// The directory that is searched first.
pub fn given() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// A peer in Rust; `feature` brings in its library.
pub fn rust(name: &str, feature: Option<&str>) -> Found {
    if let Some(path) = ready(name) {
        return Ok(path);
    }
    let mut command = Command::new("cargo");
    command.current_dir(SOURCES).args(["build", "--release", "--quiet"]);
    command.args(["--bin", name]).env_remove("CARGO_TARGET_DIR");
    command.args(feature.map(|feature| ["--features", feature]).into_iter().flatten());
    run(command, "cargo")?;
    built(Path::new(SOURCES).join("target/release").join(name))
}

/// The peer in C, with the installed libxdp.
pub fn libxdp() -> Found {
    let name = "libxdp";
    if let Some(path) = ready(name) {
        return Ok(path);
    }
    let mut ask = Command::new("pkg-config");
    let answer =
        ask.args(["--cflags", "--libs", "libxdp", "libbpf"]).stderr(Stdio::null()).output();
    let answer = answer.context("pkg-config: install pkg-config and libxdp-dev")?;
    ensure!(answer.status.success(), "libxdp is not installed (Debian: libxdp-dev)");
    let folder = Path::new(SOURCES).join("target/release");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(name);
    let mut command = Command::new("cc");
    command.current_dir(SOURCES).args(["-O3", "-Wall", "-o"]).arg(&path);
    command.arg("c/libxdp.c");
    command.args(String::from_utf8_lossy(&answer.stdout).split_whitespace());
    run(command, "cc")?;
    built(path)
}

fn ready(name: &str) -> Option<PathBuf> {
    given().map(|folder| folder.join(name)).filter(|path| path.is_file())
}

fn built(path: PathBuf) -> Found {
    ensure!(path.is_file(), "{} was not made", path.display());
    Ok(path)
}

fn run(mut command: Command, name: &str) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| name.to_owned())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("error") || line.contains("ERROR"));
    bail!("{name}: {}", line.unwrap_or("failed").trim());
}

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/xsk");
