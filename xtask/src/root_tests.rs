//! `cargo xtask root-tests`: the tests that need root, several modules in parallel.
//!
//! A test binary has a module for each subject; each module runs in a process of its own, its tests
//! one after another. Each test makes namespaces, pins and files with names of its own, so that
//! modules do not disturb each other. Each has a time limit and a log below `target/root-tests`;
//! the log of one that failed is printed. One that reaches its limit is reported with what its
//! processes wait for. If even SIGKILL does not end it, the kernel holds it: the run ends then,
//! because no other test could.
//! Not here: what the tests need besides themselves; `make root-tests` builds it first.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::root;

const PACKAGE: &str = "xway-tests";
/// Logs, below the repository's folder.
const FOLDER: &str = "target/root-tests";
/// The slowest module takes two minutes on an idle machine.
const LIMIT: Duration = Duration::from_secs(600);
/// After the limit: time to see what the module waits for, and then to end it.
const EXAMINATION: Duration = Duration::from_secs(20);
const KILL: Duration = Duration::from_secs(40);
const POLL: Duration = Duration::from_millis(20);
/// Prints what processes wait for, and the end of the kernel's log.
const EXAMINE: &str = "ps -eo pid,ppid,stat,etimes,wchan:32,args --sort=start_time | tail -n 60
for process in /proc/[0-9]*; do
    case \"$(sed 's/.*) //' $process/stat 2>/dev/null)\" in
    D*) echo \"$process: $(tr '\\0' ' ' < $process/cmdline)\"; cat $process/stack ;;
    esac
done
dmesg | tail -n 60";
const USAGE: &str = "usage: cargo xtask root-tests [--jobs N] [--only TEXT]...";

struct Options {
    /// The number of modules that run at the same time.
    jobs: usize,
    /// Parts of the names of those to run; empty for all.
    only: Vec<String>,
}

struct Binary {
    name: String,
    path: PathBuf,
}

/// The tests of one module of a binary.
struct Module {
    /// `binary::module`.
    name: String,
    path: PathBuf,
    tests: Vec<String>,
}

struct Finished {
    name: String,
    time: Duration,
    passed: bool,
}

pub fn run(words: &[&str]) -> Result<ExitCode> {
    let options = parse(words)?;
    let mut modules = Vec::new();
    for binary in build()? {
        modules.extend(modules_of(&binary)?);
    }
    let is_wanted = |module: &Module| {
        options.only.is_empty() || options.only.iter().any(|part| module.name.contains(part))
    };
    modules.retain(is_wanted);
    ensure!(
        !modules.is_empty(),
        "no module of tests has a name with {}",
        options.only.join(" or ")
    );
    fs::create_dir_all(root::path().join(FOLDER)).context(FOLDER)?;
    println!("{} modules, {} at a time, logs in {FOLDER}", modules.len(), options.jobs);
    let start = Instant::now();
    let finished = run_all(modules, options.jobs)?;
    Ok(summary(finished, start.elapsed()))
}

/// Builds the test binaries and returns their paths, which cargo reports as JSON.
fn build() -> Result<Vec<Binary>> {
    let output = Command::new("cargo")
        .args([
            "test",
            "--no-run",
            "--message-format=json-render-diagnostics",
            "--package",
            PACKAGE,
        ])
        .current_dir(root::path())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo could not build the tests: {}", output.status);
    let messages = String::from_utf8(output.stdout).context("cargo's messages")?;
    messages.lines().filter_map(|line| test_binary(line).transpose()).collect()
}

/// The test binary that one of cargo's messages announces.
fn test_binary(message: &str) -> Result<Option<Binary>> {
    let message: Value = serde_json::from_str(message).context("a message of cargo")?;
    if message["profile"]["test"] != true {
        return Ok(None);
    }
    let (Some(path), Some(name)) =
        (message["executable"].as_str(), message["target"]["name"].as_str())
    else {
        return Ok(None);
    };
    Ok(Some(Binary { name: name.to_owned(), path: path.into() }))
}

fn modules_of(binary: &Binary) -> Result<Vec<Module>> {
    let output = Command::new(&binary.path)
        .args(["--list", "--format", "terse"])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", binary.path.display()))?;
    let path = binary.path.display();
    ensure!(output.status.success(), "{path} does not list its tests: {}", output.status);
    let list = String::from_utf8(output.stdout).context("a list of tests")?;
    Ok(by_module(&list)
        .into_iter()
        .map(|(module, tests)| {
            let name = format!("{}::{module}", binary.name);
            Module { name, path: binary.path.clone(), tests }
        })
        .collect())
}

/// A binary's tests, by the first part of their path.
fn by_module(list: &str) -> BTreeMap<&str, Vec<String>> {
    let mut modules: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for test in list.lines().filter_map(|line| line.strip_suffix(": test")) {
        let module = test.split_once("::").map_or(test, |(module, _)| module);
        modules.entry(module).or_default().push(test.to_owned());
    }
    modules
}

fn run_all(modules: Vec<Module>, jobs: usize) -> Result<Vec<Finished>> {
    let queue = Mutex::new(VecDeque::from(modules));
    let worker = || -> Result<Vec<Finished>> {
        let mut finished = Vec::new();
        while let Some(module) = next(&queue) {
            // The other workers end with what they run.
            finished.push(run_one(&module).inspect_err(|_| clear(&queue))?);
        }
        Ok(finished)
    };
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..jobs {
            workers.push(std::thread::Builder::new().spawn_scoped(scope, worker)?);
        }
        let mut all = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(finished) => all.extend(finished?),
                Err(_) => bail!("a thread that runs tests panicked"),
            }
        }
        Ok(all)
    })
}

fn next(queue: &Mutex<VecDeque<Module>>) -> Option<Module> {
    queue.lock().ok()?.pop_front()
}

fn clear(queue: &Mutex<VecDeque<Module>>) {
    if let Ok(mut queue) = queue.lock() {
        queue.clear();
    }
}

fn run_one(module: &Module) -> Result<Finished> {
    let log = root::path().join(FOLDER).join(format!("{}.log", module.name.replace("::", "-")));
    let output = File::create(&log).with_context(|| log.display().to_string())?;
    let start = Instant::now();
    let mut child = command(module)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .with_context(|| format!("cannot start {}", module.path.display()))?;
    let status = wait(&mut child, start, &module.name)?;
    let time = start.elapsed();
    let seconds = time.as_secs_f64();
    if status.success() {
        println!("passed {:>7.1} s  {}", seconds, module.name);
    } else {
        let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        println!("FAILED {:>7.1} s  {}, {status}:\n{text}", seconds, module.name);
    }
    Ok(Finished { name: module.name.clone(), time, passed: status.success() })
}

/// Waits for a module. `timeout` ends it after the limit; before that, this prints what it waits
/// for.
fn wait(child: &mut Child, start: Instant, name: &str) -> Result<ExitStatus> {
    let mut examined = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let time = start.elapsed();
        if time > LIMIT && !examined {
            println!("{name} still runs after {} s:\n{}", time.as_secs(), examine());
            examined = true;
        }
        if time > LIMIT + EXAMINATION + KILL {
            bail!("the kernel does not let {name} end; no other test can run then");
        }
        std::thread::sleep(POLL);
    }
}

fn examine() -> String {
    let output = as_root(&["timeout", "10", "sh", "-c", EXAMINE]).stdin(Stdio::null()).output();
    match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => error.to_string(),
    }
}

/// Starts a module's tests where `cargo test` would, as root.
fn command(module: &Module) -> Command {
    let limit = (LIMIT + EXAMINATION).as_secs().to_string();
    let mut command = as_root(&["timeout", "--kill-after=10", &limit]);
    command.arg(&module.path).args(["--test-threads=1", "--exact"]).args(&module.tests);
    command.current_dir(root::path().join("tests"));
    command
}

/// A command as root: `XWAY_ROOT_RUNNER` names one such as `sudo` that makes the caller root.
fn as_root(words: &[&str]) -> Command {
    let runner = std::env::var("XWAY_ROOT_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace().chain(words.iter().copied());
    let mut command = Command::new(words.next().unwrap_or("timeout"));
    command.args(words);
    command
}

fn summary(mut finished: Vec<Finished>, elapsed: Duration) -> ExitCode {
    finished.sort_by_key(|one| std::cmp::Reverse(one.time));
    println!("\nslowest first:");
    for one in &finished {
        let result = if one.passed { "" } else { "  FAILED" };
        println!("{:>7.1} s  {}{result}", one.time.as_secs_f64(), one.name);
    }
    let failed: Vec<_> = finished.iter().filter(|one| !one.passed).collect();
    let modules = finished.len();
    println!("\n{modules} modules in {} s, {} failed", elapsed.as_secs(), failed.len());
    failed.iter().for_each(|one| println!("failed: {}", one.name));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(words: &[&str]) -> Result<Options> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options { jobs, only: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().context(USAGE);
        match *word {
            "--jobs" => options.jobs = value()?.parse().context(USAGE)?,
            "--only" => options.only.push((*value()?).to_owned()),
            _ => bail!(USAGE),
        }
    }
    ensure!(options.jobs > 0, "--jobs is at least 1");
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_belongs_to_the_first_part_of_its_path() {
        let list = "chain::a: test\nchain::inner::b: test\napply_chain::c: test\nd: benchmark\n";
        let modules = by_module(list);
        assert_eq!(modules["chain"], ["chain::a", "chain::inner::b"]);
        assert_eq!(modules["apply_chain"], ["apply_chain::c"]);
        assert_eq!(modules.len(), 2);
    }

    #[test]
    fn only_test_binaries_are_taken_from_the_messages_of_cargo() {
        let artifact = |test: bool, path: &str| {
            format!(
                r#"{{"profile":{{"test":{test}}},"target":{{"name":"one"}},"executable":{path}}}"#
            )
        };
        let found = test_binary(&artifact(true, "\"/x/one-1\"")).unwrap().unwrap();
        assert_eq!((found.name.as_str(), found.path.to_str().unwrap()), ("one", "/x/one-1"));
        assert!(test_binary(&artifact(false, "\"/x/one\"")).unwrap().is_none());
        assert!(test_binary(&artifact(true, "null")).unwrap().is_none());
        assert!(test_binary(r#"{"reason":"build-finished","success":true}"#).unwrap().is_none());
        assert!(test_binary("no JSON").is_err());
    }

    #[test]
    fn a_failed_binary_fails_the_run() {
        let one = |passed| Finished { name: "one".into(), time: Duration::ZERO, passed };
        let code = |finished| format!("{:?}", summary(finished, Duration::ZERO));
        assert_eq!(code(vec![one(true)]), format!("{:?}", ExitCode::SUCCESS));
        assert_eq!(code(vec![one(true), one(false)]), format!("{:?}", ExitCode::FAILURE));
    }
}
