//! The C library, installed into a folder of the tests, and programs built with it.
//!
//! Rule: everything is found by pkg-config, as users find it. `make root-tests` builds the library
//! before the tests, beside which it lies.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use xway_tests::built;

/// A prefix with the library in it.
#[derive(Debug)]
pub struct Installed {
    prefix: PathBuf,
}

#[derive(Clone, Copy, Debug)]
pub enum Linking {
    Shared,
    Static,
}

impl Installed {
    /// One installation for all tests of a run.
    pub fn once() -> &'static Self {
        static INSTALLED: OnceLock<Installed> = OnceLock::new();
        INSTALLED.get_or_init(|| {
            let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("xsk-c");
            let _ = fs::remove_dir_all(&prefix);
            let built = built::folder();
            assert!(built.join("libxway_xsk.so").exists(), "cargo build -p xway-xsk-c");
            let variable = |name: &str, path: &Path| format!("{name}={}", path.display());
            run(Command::new("make")
                .current_dir(root())
                .args(["install-c", "CARGO=true"])
                .args([variable("PREFIX", &prefix), variable("C_BUILT", &built)]));
            Self { prefix }
        })
    }

    /// For what tests write.
    pub fn folder(&self) -> &Path {
        &self.prefix
    }

    pub fn include(&self) -> PathBuf {
        self.prefix.join("include")
    }

    pub fn lib(&self) -> PathBuf {
        self.prefix.join("lib")
    }

    pub fn manual(&self) -> PathBuf {
        self.prefix.join("share/man/man3/xway_xsk.3")
    }

    /// A program of `examples/c`.
    pub fn example(&self, name: &str, linking: Linking) -> PathBuf {
        let source = root().join("examples/c").join(format!("{name}.c"));
        let program = self.prefix.join(format!("{name}-{linking:?}"));
        let mut arguments = vec!["--cflags", "--libs"];
        let mut flags = vec!["-Wall", "-Wextra", "-Werror", "-O2"];
        if let Linking::Static = linking {
            arguments.push("--static");
            flags.push("-static");
        }
        self.compile(&source, &program, &flags, &arguments);
        program
    }

    /// A program of this folder, which ends at the first use of memory that is not its own.
    pub fn checked(&self, name: &str) -> PathBuf {
        let program = self.prefix.join(name.trim_end_matches(".c"));
        let flags = [
            "-Wall",
            "-Wextra",
            "-Werror",
            "-g",
            "-pthread",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
        ];
        self.compile(&folder().join(name), &program, &flags, &["--cflags", "--libs"]);
        program
    }

    fn compile(&self, source: &Path, program: &Path, flags: &[&str], arguments: &[&str]) {
        let path = self.lib().join("pkgconfig");
        let mut found = Command::new("pkg-config");
        let found = run(found.args(arguments).arg("xway_xsk").env("PKG_CONFIG_PATH", path));
        let mut cc = Command::new("cc");
        run(cc.args(flags).arg(source).args(found.split_whitespace()).arg("-o").arg(program));
    }
}

/// The output of a tool that must succeed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Functions that a header declares.
pub fn declared(header: &str) -> BTreeSet<String> {
    let code = header.lines().filter(|line| !line.trim_start().starts_with('*'));
    code.filter(|line| !line.starts_with(' ')).filter_map(name_before_parenthesis).collect()
}

/// Functions that a manual describes.
pub fn called(manual: &str) -> BTreeSet<String> {
    let words = manual.lines().filter_map(|line| line.strip_prefix(".Fn "));
    words.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// A C file of this folder.
pub fn source(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

fn name_before_parenthesis(line: &str) -> Option<String> {
    let (before, _) = line.split_once('(')?;
    let name = before.rsplit([' ', '*']).next()?;
    name.starts_with("xway_xsk_").then(|| name.to_owned())
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/xsk/c/support")
}
