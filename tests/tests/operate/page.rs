//! `docs/operate.md`, line by line: the commands of the page print what the page shows.

use std::fs;
use std::path::{Path, PathBuf};

use lab::{LinkOptions, TwoHosts};
use xway_tests::xway::Xway;

const PAGE: &str = include_str!("../../../docs/operate.md");
/// Directory of declarations on the page.
const CONFIG: &str = "/etc/xway";

/// A block of the page: its language and its lines.
fn blocks() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in PAGE.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => open = Some((language, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

/// Commands of a block, each with the lines that it prints.
fn commands<'p>(lines: &[&'p str]) -> Vec<(&'p str, Vec<&'p str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command, Vec::new())),
            None => commands.last_mut().unwrap().1.push(line),
        }
    }
    commands
}

/// Whether lines are as expected: `…` at the end of a line stands for its rest, and alone for any
/// number of lines.
fn matches(found: &[&str], expected: &[&str]) -> bool {
    match expected {
        [] => found.is_empty(),
        ["…", rest @ ..] => (0..=found.len()).any(|skipped| matches(&found[skipped..], rest)),
        [line, rest @ ..] => {
            let Some((first, others)) = found.split_first() else { return false };
            let is_same = match line.strip_suffix('…') {
                Some(begin) => first.starts_with(begin.trim_end()),
                None => first == line,
            };
            is_same && matches(others, rest)
        }
    }
}

/// Splits a command as a shell does, with single quotes alone.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(number, part)| match number % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect(),
    });
    words.collect()
}

struct Server {
    net: TwoHosts,
    xway: Xway,
    config: PathBuf,
}

impl Server {
    /// The file of the test in place of one below `/etc/xway`.
    fn path(&self, path: &str) -> PathBuf {
        self.config.join(Path::new(path).strip_prefix(CONFIG).unwrap())
    }

    /// Output of a command of the page.
    fn run(&self, command: &str) -> String {
        let mut words = words(command);
        if words[0] == "rm" {
            fs::remove_file(self.path(&words[1])).unwrap();
            return String::new();
        }
        assert_eq!(words.remove(0), "xway", "{command}");
        if ["apply", "save"].contains(&words[0].as_str()) {
            words.push(self.config.to_str().unwrap().to_owned());
        }
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let answer = self.xway.run_in(&self.net.b, &words);
        assert!(answer.code < 2, "{command}: {}{}", answer.stdout, answer.stderr);
        answer.stdout
    }
}

#[test]
fn the_page_is_true() {
    let (net, xway) = (TwoHosts::build(&LinkOptions::default()).unwrap(), Xway::new());
    let config = xway.state().join("etc");
    fs::create_dir_all(config.join("rules")).unwrap();
    let server = Server { net, xway, config: fs::canonicalize(config).unwrap() };
    let mut run = 0;
    for (language, lines) in blocks() {
        match language {
            "toml" => {
                let path = server.path(lines[0].strip_prefix("# ").unwrap());
                fs::write(path, lines.join("\n") + "\n").unwrap();
            }
            "console" => {
                for (command, expected) in commands(&lines) {
                    let found = server.run(command);
                    let found: Vec<_> = found.lines().collect();
                    let shown = || format!("{command}:\n{}", found.join("\n"));
                    assert!(matches(&found, &expected), "{}\nexpected:\n{expected:#?}", shown());
                    run += 1;
                }
            }
            _ => {}
        }
    }
    assert!(run > 12, "{run} commands were run");
}
