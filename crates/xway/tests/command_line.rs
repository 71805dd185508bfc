//! The command line as a whole: standard input and output as files, colors, quiet and verbose
//! output, locales, and spellings of options from before.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod support;

use std::fs::{self, File};
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use support::{Folder, object, udp, xway};

const VICTIM: [u8; 4] = [10, 1, 0, 2];
const STREAMS: &str = r#"
[[stream]]
layers = [
    { ethernet = { src = "02:00:00:00:00:01", dst = "02:00:00:00:00:02" } },
    { ipv4 = { src = "10.0.0.1", dst = "10.0.0.2" } },
    { udp = { src = 1, dst = 2 } },
]
"#;
const RULES: &str = "default = \"pass\"\nrules = [\"drop udp dport 53\"]\n";

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xway"));
    command.args(words).env_remove("LC_ALL").env_remove("LC_CTYPE").env_remove("LANG");
    command
}

/// Runs with these bytes on standard input, once through a pipe and once from a file.
fn with_input(folder: &Folder, words: &[&str], input: &[u8]) -> [Output; 2] {
    let mut command = command(words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let piped = child.wait_with_output().unwrap();
    let path = folder.file("stdin");
    fs::write(&path, input).unwrap();
    let redirected = command.stdin(File::open(&path).unwrap()).output().unwrap();
    [piped, redirected]
}

/// A constant is copied into every unit of code that uses it; a static is there once.
#[test]
fn large_objects_are_in_the_binary_once() {
    let binary = fs::read(env!("CARGO_BIN_EXE_xway")).unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let large = |path: &PathBuf| path.extension().is_some_and(|end| end == "o");
    let mut objects: Vec<_> =
        paths.filter(large).map(|path| (fs::read(&path).unwrap(), 0)).collect();
    objects.retain(|(object, _)| object.len() > 16 << 10);
    let (mut left, mut skipped) = (&binary[..], Vec::new());
    // Each object begins with this byte.
    while left.read_until(0x7f, &mut skipped).unwrap() > 0 {
        for (object, count) in &mut objects {
            *count += usize::from(left.starts_with(&object[1..]));
        }
        skipped.clear();
    }
    let counts: Vec<_> = objects.iter().map(|(object, count)| (object.len(), *count)).collect();
    assert!(counts.iter().all(|(_, count)| *count == 1), "bytes and copies: {counts:?}");
    assert!(counts.len() >= 9, "{counts:?}");
}

/// Each file that a command reads may be standard input.
#[test]
fn a_dash_is_standard_input() {
    let folder = Folder::new("stdin");
    let capture = folder.capture("in.pcapng", &[udp(VICTIM, 53), udp(VICTIM, 54)]);
    let rules = folder.file("rules.toml");
    fs::write(&rules, RULES).unwrap();
    let packets = fs::read(&capture).unwrap();
    let drop = fs::read(object("drop")).unwrap();
    let saved = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/iptables/limits"));
    let cases: [(&[&str], &[u8], &str); 9] = [
        (&["run", "drop", "--in", "-"], &packets, "2"),
        (&["run", "-", "--in", &capture, "--program", "xway_drop"], &drop, "2"),
        (&["run", "drop", "--in", &capture, "--world", "-"], b"seed = 1\n", "2"),
        (&["filter", "check", "-"], RULES.as_bytes(), "drop udp dport 53"),
        (&["filter", "explain", "-", "--rules", &rules], &packets, "drop"),
        (&["filter", "export", "flowspec", "-"], RULES.as_bytes(), "53"),
        (&["filter", "import", "iptables", "-", "--partial"], &saved.unwrap(), "10.0.0.5-10.0.0.9"),
        (&["gen", "pcap", "-", "--dry-run", "--write", "/dev/null"], &packets, "first frames"),
        (&["gen", "-", "--dry-run", "--write", "/dev/null"], STREAMS.as_bytes(), ""),
    ];
    for (words, input, want) in cases {
        for output in with_input(&folder, words, input) {
            let text = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && text.contains(want), "{words:?}: {text}{errors}");
        }
    }
}

/// A capture on standard output is all that is there; results go to standard error.
#[test]
fn a_dash_is_standard_output() {
    let folder = Folder::new("stdout");
    let words = ["gen", "udp", "10.0.0.2:53", "--dry-run", "--write", "-", "--first", "3"];
    let output = command(&words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let capture = folder.file("stdout.pcapng");
    fs::write(&capture, &output.stdout).unwrap();
    let run = xway(&["--json", "run", "drop", "--in", &capture]).json();
    assert_eq!(run["packets"], 3, "{run}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing was sent"), "{output:?}");
    assert!(!fs::exists("-").unwrap(), "a file is named -");
}

#[test]
fn colors_are_chosen() {
    let folder = Folder::new("colors");
    let rules = folder.file("rules.toml");
    fs::write(&rules, "default = \"pass\"\nrules = [\"drop udp\", \"drop udp dport 53\"]\n")
        .unwrap();
    let check = |words: &[&str]| {
        let output = command(&[&["filter", "check", &rules], words].concat()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains('\x1b')
    };
    assert!(check(&["--color", "always"]));
    assert!(!check(&["--color", "never"]) && !check(&[]) && !check(&["--color", "auto"]));
}

#[test]
fn quiet_suppresses_messages_but_no_errors() {
    let folder = Folder::new("quiet");
    let saved = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/iptables/server");
    let import = ["filter", "import", "iptables", saved, "--partial"];
    let loud = xway(&import);
    assert!(loud.stderr.contains("rules left out"), "{loud:?}");
    let quiet = xway(&[&import[..], &["-q"]].concat());
    assert_eq!((quiet.code, &*quiet.stderr), (0, ""), "{quiet:?}");
    assert_eq!(quiet.stdout, loud.stdout);
    let missing = folder.file("missing.toml");
    let failed = xway(&["-q", "filter", "check", &missing]);
    assert!(failed.code == 2 && failed.stderr.contains("missing.toml"), "{failed:?}");
    assert_eq!(xway(&["-q", "-v", "doctor"]).code, 2);
}

/// Where the locale cannot show other characters, tables are ASCII. Without a locale, UTF-8 is
/// assumed.
#[test]
fn output_is_in_the_encoding_of_the_locale() {
    let folder = Folder::new("locale");
    let capture = folder.capture("in.pcapng", &[udp(VICTIM, 53)]);
    let run = |locale: &[(&str, &str)]| {
        let mut command = command(&["run", "drop", "--in", &capture]);
        let output = command.envs(locale.iter().copied()).output().unwrap();
        (output.stdout.is_ascii(), output.stdout)
    };
    let plain = run(&[]);
    assert!(!plain.0, "{}", String::from_utf8_lossy(&plain.1));
    assert!(!run(&[("LC_ALL", "C.UTF-8")]).0);
    assert!(!run(&[("LC_ALL", "de_DE.utf8"), ("LANG", "C")]).0);
    assert!(run(&[("LC_ALL", "C")]).0 && run(&[("LANG", "de_DE.ISO-8859-1")]).0);
}

/// A shell is offered the interfaces of this host where a command expects one.
#[test]
fn interfaces_are_completed() {
    let candidates = |words: &[&str]| {
        let index = (words.len() - 1).to_string();
        let asked =
            [("XWAY_COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", &*index), ("_CLAP_IFS", "\n")];
        let output = command(&[&["--"], words].concat()).envs(asked).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for words in [
        &["xway", "attach", ""][..],
        &["xway", "filter", "show", ""],
        &["xway", "gen", "udp", "--dev", ""],
        &["xway", "apply", "--dev", ""],
    ] {
        let offered = candidates(words);
        assert!(offered.iter().any(|one| one == "lo"), "{words:?}: {offered:?}");
    }
    let commands = candidates(&["xway", "filter", "un"]);
    assert_eq!(commands, ["unload", "unban"]);
    for shell in ["bash", "zsh", "fish"] {
        let script = xway(&["completions", shell]);
        assert!(script.code == 0 && script.stdout.contains("XWAY_COMPLETE"), "{script:?}");
    }
}

/// Earlier names of options are accepted, and no help mentions them.
#[test]
fn earlier_spellings_are_accepted() {
    let folder = Folder::new("spellings");
    let capture = folder.capture("in.pcapng", &[udp(VICTIM, 53), udp(VICTIM, 54)]);
    let run = xway(&["--json", "run", "drop", "--in", &capture, "--limit", "1"]).json();
    assert_eq!(run["packets"], 1, "{run}");
    let rules = folder.file("rules.toml");
    fs::write(&rules, RULES).unwrap();
    let export = xway(&["filter", "export", "nft", &rules, "--device", "eth0"]);
    assert!(export.code == 0 && export.stdout.contains("eth0"), "{export:?}");
    for (words, old) in [
        (&["run"][..], "--limit"),
        (&["filter", "export"], "--device"),
        (&["filter", "sample"], "--for "),
        (&["bench", "run"], "--seconds"),
    ] {
        let help = xway(&[words, &["--help"]].concat());
        assert!(help.code == 0 && !help.stdout.contains(old), "{help:?}");
    }
}
