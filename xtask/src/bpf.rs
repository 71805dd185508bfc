//! `cargo xtask bpf`: every `bpf/*/X.bpf.c` becomes `bpf/prebuilt/X.o`, those in `bpf/test`
//! `bpf/prebuilt/test/X.o`.
//!
//! Rule: the same sources and compiler give the same bytes in any folder on any machine, so that
//! `--check` can compare; no path of the building machine gets into an object.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread::{self, Builder};

use anyhow::{Context, Result, bail, ensure};
use spec::Spec;

use crate::root;

/// Rebuilds all objects in place and removes those that have no source any more.
pub fn build() -> Result<()> {
    let root = root::path();
    let prebuilt = root.join(PREBUILT);
    let sources = sources(&root)?;
    Tools::find()?.compile(&root, &sources, &prebuilt)?;
    for object in orphans(&root, &sources)? {
        println!("removing {PREBUILT}/{object}: it has no source");
        fs::remove_file(prebuilt.join(&object)).context(object)?;
    }
    println!("{} objects in {PREBUILT}", sources.len());
    Ok(())
}

/// Rebuilds elsewhere and fails with the names of objects that differ, miss or are left over. Also
/// assembles what the compiler writes as assembly source, which must be the same object.
pub fn check() -> Result<()> {
    let root = root::path();
    let sources = sources(&root)?;
    let fresh = Scratch::new()?;
    let tools = Tools::find()?;
    tools.compile(&root, &sources, &fresh.0)?;
    for_each(&sources, |source| tools.assemble_one(&root, source, &fresh.0))?;
    let mut wrong = Vec::new();
    for object in sources.iter().map(|source| &source.object) {
        let committed = fs::read(root.join(PREBUILT).join(object));
        let rebuilt = fs::read(fresh.0.join(object)).context(object.clone())?;
        match committed {
            Err(_) => wrong.push(format!("{object}: not built yet")),
            Ok(committed) if committed != rebuilt => {
                wrong.push(format!("{object}: differs from its source"));
            }
            Ok(_) => (),
        }
    }
    wrong.extend(orphans(&root, &sources)?.iter().map(|name| format!("{name}: has no source")));
    ensure!(
        wrong.is_empty(),
        "{PREBUILT} is stale; run `cargo xtask bpf`:\n  {}",
        wrong.join("\n  ")
    );
    println!("{} objects in {PREBUILT} match their sources", sources.len());
    Ok(())
}

/// One source file and the object it becomes, relative to the folder of prebuilt objects.
struct Source {
    path: PathBuf,
    object: String,
}

fn sources(root: &Path) -> Result<Vec<Source>> {
    let bpf = root.join("bpf");
    let mut sources = Vec::new();
    for path in root::files(&bpf, SOURCE_ENDING)? {
        let relative = path.strip_prefix(root)?.to_path_buf();
        let file = relative.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = file.trim_end_matches(SOURCE_ENDING);
        let test = relative.starts_with("bpf/test");
        let object = if test { format!("test/{stem}.o") } else { format!("{stem}.o") };
        sources.push(Source { path: relative, object });
    }
    if let Some(pair) = duplicate(&sources) {
        bail!("two sources want to be {PREBUILT}/{pair}: rename one");
    }
    Ok(sources)
}

fn duplicate(sources: &[Source]) -> Option<&str> {
    let mut names: Vec<&str> = sources.iter().map(|source| source.object.as_str()).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Objects in the folder that no source makes.
fn orphans(root: &Path, sources: &[Source]) -> Result<Vec<String>> {
    let prebuilt = root.join(PREBUILT);
    let mut names = Vec::new();
    for path in root::files(&prebuilt, ".o")? {
        let name = path.strip_prefix(&prebuilt)?.to_string_lossy().into_owned();
        if !sources.iter().any(|source| source.object == name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// The compiler and the tool that removes DWARF but keeps BTF.
struct Tools {
    clang: String,
    strip: String,
    includes: Vec<String>,
}

impl Tools {
    fn find() -> Result<Self> {
        let chosen = std::env::var("BPF_CLANG").ok();
        let clang = match chosen {
            Some(path) => {
                ensure!(version(&path).is_some(), "BPF_CLANG={path} does not run as clang");
                path
            }
            None => ["clang-19", "clang"]
                .into_iter()
                .find(|name| version(name).is_some_and(|major| major >= OLDEST_CLANG))
                .context(MISSING)?
                .to_owned(),
        };
        let major = version(&clang).unwrap_or_default();
        ensure!(major >= OLDEST_CLANG, "{clang} is version {major}; {MISSING}");
        let strip = [format!("llvm-strip-{major}"), "llvm-strip".to_owned()]
            .into_iter()
            .find(|name| runs(name))
            .with_context(|| format!("llvm-strip is missing: apt-get install llvm-{major}"))?;
        Ok(Self { clang, strip, includes: system_includes() })
    }

    /// Builds all sources below `into`.
    fn compile(&self, root: &Path, sources: &[Source], into: &Path) -> Result<()> {
        fs::create_dir_all(into.join("test")).context("bpf/prebuilt")?;
        for_each(sources, |source| self.compile_one(root, source, into))
    }

    fn clang(&self, root: &Path) -> Command {
        let mut clang = Command::new(&self.clang);
        clang.current_dir(root).args(FLAGS).args(&self.includes);
        clang.arg(format!("-ffile-prefix-map={}=.", root.display()));
        clang
    }

    /// Compares the assembled source with the object beside it.
    fn assemble_one(&self, root: &Path, source: &Source, beside: &Path) -> Result<()> {
        let object = beside.join(&source.object);
        let text = object.with_extension("s");
        let mut clang = self.clang(root);
        clang.arg("-S").arg(&source.path).arg("-o").arg(&text);
        succeed(&source.path, &clang.output().context(self.clang.clone())?)?;
        let text = fs::read_to_string(text)?;
        let assembled = spec::asm::source::assemble(&source.object, &text);
        let assembled = assembled.with_context(|| format!("assembly of {}", source.object))?;
        let assembled = Spec::parse(&source.object, &assembled)?;
        let compiled = Spec::parse(&source.object, &fs::read(object)?)?;
        ensure!(assembled == compiled, "{}: assembled, it is another object", source.object);
        Ok(())
    }

    fn compile_one(&self, root: &Path, source: &Source, into: &Path) -> Result<()> {
        let object = into.join(&source.object);
        let mut clang = self.clang(root);
        clang.arg("-c").arg(&source.path).arg("-o").arg(&object);
        succeed(&source.path, &clang.output().context(self.clang.clone())?)?;
        if WITH_DWARF.contains(&source.object.as_str()) {
            return Ok(());
        }
        let strip = Command::new(&self.strip).arg("-g").arg(&object).output();
        succeed(&source.path, &strip.context(self.strip.clone())?)
    }
}

/// Does something with each source, one thread for each processor.
fn for_each(sources: &[Source], each: impl Fn(&Source) -> Result<()> + Sync) -> Result<()> {
    let queue = Mutex::new(sources.iter());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some(source) = next(&queue) {
            if let Err(error) = each(source) {
                failures.lock().expect("no worker panics").push(error);
            }
        }
    };
    thread::scope(|scope| {
        let mut started = (0..workers).map(|_| Builder::new().spawn_scoped(scope, work));
        started.try_for_each(|thread| thread.map(|_| ()))
    })
    .context("cannot start a thread")?;
    let failures = failures.into_inner().expect("no worker panics");
    let text: Vec<String> = failures.iter().map(|error| format!("{error:#}")).collect();
    ensure!(text.is_empty(), "{}", text.join("\n"));
    Ok(())
}

fn next<'a>(queue: &Mutex<impl Iterator<Item = &'a Source>>) -> Option<&'a Source> {
    queue.lock().expect("no worker panics").next()
}

fn succeed(source: &Path, output: &Output) -> Result<()> {
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}", source.display(), text.trim());
    Ok(())
}

/// Major version of a clang, `None` if it does not run.
fn version(clang: &str) -> Option<u32> {
    let output = Command::new(clang).arg("-dumpversion").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.trim().split('.').next()?.parse().ok()
}

fn runs(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Debian keeps `asm/` headers in a folder for each architecture, which clang does not search
/// when its target is BPF.
fn system_includes() -> Vec<String> {
    let folder = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    if Path::new(&folder).is_dir() { vec!["-idirafter".into(), folder] } else { Vec::new() }
}

/// A folder for one run, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("xway-bpf-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it being gone: a leftover only takes room.
        let _ = fs::remove_dir_all(&self.0);
    }
}

const PREBUILT: &str = "bpf/prebuilt";
/// Objects that keep their DWARF, for tests of those who read it.
const WITH_DWARF: &[&str] = &["test/frames.o", "test/locals.o"];
const SOURCE_ENDING: &str = ".bpf.c";
const OLDEST_CLANG: u32 = 18;
const MISSING: &str =
    "building BPF needs clang 18 or newer: apt-get install clang-19 llvm-19, or set BPF_CLANG";
const FLAGS: &[&str] = &[
    "-O2",
    "-g",
    "--target=bpf",
    "-mcpu=v3",
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Ibpf/include",
    "-idirafter",
    "bpf/include/uapi",
    "-fdebug-compilation-dir=.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sources_never_make_one_object() {
        let source = |object: &str| Source { path: PathBuf::new(), object: object.into() };
        let cases: [(&[&str], Option<&str>); 3] = [
            (&[], None),
            (&["drop.o", "route.o", "test/drop.o"], None),
            (&["drop.o", "route.o", "drop.o"], Some("drop.o")),
        ];
        for (objects, expected) in cases {
            let sources: Vec<Source> = objects.iter().map(|name| source(name)).collect();
            assert_eq!(duplicate(&sources), expected, "{objects:?}");
        }
    }

    #[test]
    fn every_program_has_a_source_in_its_own_folder() {
        let sources = sources(&root::path()).unwrap();
        let drop = sources.iter().find(|source| source.object == "drop.o").unwrap();
        assert_eq!(drop.path, Path::new("bpf/drop/drop.bpf.c"));
    }
}
