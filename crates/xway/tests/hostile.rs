//! Hostile names and texts: no viewing command sends a character to the terminal that does
//! something other than being seen, in plain text or in JSON.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::process::Command;

use report::{Bench, Host, Run};
use support::{Answer, Folder, object, udp, xway};

/// Escape sequence, change of direction, C1 control, DEL, bell, and a character without width.
const ATTACK: &str = "\x1b[2J\u{202e}\u{9b}m\x7f\x07\u{200b}";

/// The first bytes of the attack, ending at a character, and `x` up to this length.
fn attack(length: usize) -> String {
    let mut text = String::new();
    for c in ATTACK.chars() {
        if text.len() + c.len_utf8() <= length {
            text.push(c);
        }
    }
    text + &"x".repeat(length.saturating_sub(ATTACK.len()))
}

/// An object of `bpf/prebuilt/test` in which these words are replaced wherever they occur.
fn hostile_object(folder: &Folder, name: &str, words: &[&str]) -> String {
    patched_object(folder, name, words, attack)
}

fn patched_object(
    folder: &Folder,
    name: &str,
    words: &[&str],
    attack: impl Fn(usize) -> String,
) -> String {
    let mut bytes = fs::read(object(&format!("test/{name}"))).unwrap();
    for word in words {
        let mut hostile = attack(word.len()).into_bytes();
        hostile.resize(word.len(), b'x');
        let places: Vec<_> = bytes.windows(word.len()).enumerate().collect();
        let places = places.into_iter().filter(|(_, found)| *found == word.as_bytes());
        let places: Vec<_> = places.map(|(place, _)| place).collect();
        assert!(!places.is_empty(), "{name} has no {word}");
        for place in places {
            bytes[place..place + word.len()].copy_from_slice(&hostile);
        }
    }
    let path = folder.file(&format!("{name}.o"));
    fs::write(&path, bytes).unwrap();
    path
}

/// Whether a character is visible, a space, a line break or a tab.
fn is_seen(c: char) -> bool {
    let steers = c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !steers || matches!(c, '\n' | '\t')
}

#[track_caller]
fn assert_seen(words: &[&str], answer: &Answer) {
    for text in [&answer.stdout, &answer.stderr] {
        let found = text.chars().find(|c| !is_seen(*c));
        assert_eq!(found, None, "{words:?} prints it:\n{}", text.escape_debug());
    }
}

/// Runs a command in both forms; both must print something, and nothing that steers a terminal.
#[track_caller]
fn check(words: &[&str]) {
    for form in [&[][..], &["--json"]] {
        let words = [words, form].concat();
        let answer = xway(&words);
        assert!(!answer.stdout.is_empty() || !answer.stderr.is_empty(), "{words:?}");
        assert_seen(&words, &answer);
    }
}

#[test]
fn objects_with_hostile_names_and_source_lines() {
    let folder = Folder::new("hostile-object");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 80), vec![0; 14]]);
    let words = [
        "count_and_reflect",
        "rxcnt",
        "*count += 1;",
        "proto = eth->h_proto;",
        "./bpf/test/paper_count.bpf.c",
    ];
    let names = hostile_object(&folder, "paper_count", &words);
    let lines = hostile_object(&folder, "paper_count", &words[2..]);
    let lcov = folder.file("lcov");
    for object in [&names, &lines] {
        check(&["run", object, "--in", &capture]);
        check(&["run", object, "--in", &capture, "--explain", "1"]);
        check(&["run", object, "--in", &capture, "--trace"]);
        check(&["run", object, "--in", &capture, "--cover"]);
        check(&["run", object, "--in", &capture, &format!("--cover={lcov}")]);
        check(&["run", object, "--in", &capture, "--program", ATTACK]);
        check(&["run", object, "--in", &capture, "--map", &format!("{ATTACK}=/dev/null")]);
        check(&["check", object]);
        check(&["check", object, "--log"]);
    }
}

#[test]
fn names_and_source_lines_cannot_forge_a_line_of_output() {
    let folder = Folder::new("hostile-lines");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 80), vec![0; 14]]);
    let words = ["count_and_reflect", "*count += 1;", "./bpf/test/paper_count.bpf.c"];
    for word in words {
        let forged = |length| format!("{:x<length$}", "a\nFORGED");
        let object = patched_object(&folder, "paper_count", &[word], forged);
        let begin = ["run", &object, "--in", &capture];
        let mut is_shown = false;
        for more in [&[][..], &["--explain", "1"], &["--trace"], &["--cover"]] {
            let words = [&begin[..], more].concat();
            let answer = xway(&words);
            is_shown |= answer.stdout.contains("FORGED");
            let lines = answer.stdout.lines().chain(answer.stderr.lines());
            let forged: Vec<_> = lines.filter(|line| line.starts_with("FORGED")).collect();
            assert!(forged.is_empty(), "{word}: {words:?}: {}", answer.stdout);
        }
        assert!(is_shown, "{word} is in no output");
    }
}

#[test]
fn text_that_a_program_prints() {
    let folder = Folder::new("hostile-print");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 80)]);
    let printed = hostile_object(&folder, "helpers_text", &["word"]);
    let begin = ["run", &printed, "--program", "text_trace", "--in", &capture];
    check(&begin);
    check(&[&begin[..], &["--explain", "1"]].concat());
    check(&[&begin[..], &["--trace"]].concat());
}

#[test]
fn rules_captures_and_listings() {
    let folder = Folder::new("hostile-rules");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 80)]);
    let good = folder.file("good.toml");
    fs::write(&good, "[[rule]]\nname = \"a\"\nmatch = \"udp\"\naction = \"drop\"\n").unwrap();
    let comment = format!("default = \"pass\"\nrules = \"\"\"\ndrop udp # {ATTACK}\n\"\"\"\n");
    let escaped = ATTACK.chars().map(|c| format!("\\u{:04x}", c as u32)).collect::<String>();
    let texts = [
        format!("default = \"{escaped}\"\n"),
        format!("\"{escaped}\" = 1\n"),
        format!("[[rule]]\nname = \"{escaped}\"\nmatch = \"udp\"\naction = \"drop\"\n"),
        format!("[[rule]]\nname = \"a\"\nmatch = \"{escaped}\"\naction = \"drop\"\n"),
        format!("[sets]\n\"{escaped}\" = [\"{escaped}\"]\n"),
        format!("rules = \"drop {escaped}\"\n"),
        ATTACK.to_owned(),
        comment,
        format!("{{\"nftables\": [{{\"chain\": {{\"name\": \"{escaped}\"}}}}]}}"),
    ];
    for (number, text) in texts.iter().enumerate() {
        let file = folder.file(&format!("{number}.toml"));
        fs::write(&file, text).unwrap();
        check(&["filter", "check", &file]);
        check(&["filter", "import", "nft", &file]);
        check(&["filter", "import", "flowspec", &file]);
        check(&["filter", "import", "iptables", &file]);
        check(&["filter", "export", "nft", &file, "--dev", ATTACK]);
        check(&["filter", "explain", &capture, "--rules", &file]);
        check(&["gen", "--streams", &file, "--dry-run"]);
        check(&["run", "drop", "--in", &capture, "--world", &file]);
        check(&["run", &file, "--in", &file]);
        check(&["bench", "compare", &file, &file]);
    }
    check(&["filter", "explain", &capture, "--rules", &good]);
    check(&["filter", ATTACK]);
    check(&["run", ATTACK, "--in", ATTACK]);
}

#[test]
fn runs_of_somebody_else() {
    let folder = Folder::new("hostile-run");
    let text = |name: &str| format!("{name}{ATTACK}");
    for (file, value) in [("before.json", 1e6), ("after.json", 2e6)] {
        let mut bench = Bench::new(text("drop"));
        for _ in 0..3 {
            bench.round(&text("row"), "pps", value).round(&text("other"), "pps", value);
        }
        bench.absent(&text("gone"), text("why")).mark(&text("row"), text("mark"));
        bench.note(text("note")).about(&text("about")).ratio(&text("row"), &text("other"));
        let host = Host { kernel: Some(text("6.18")), cpu: Some(text("cpu")), ..Host::default() };
        let mut run = Run::new(text("xway bench"));
        run.put(&bench, host).unwrap();
        fs::write(folder.file(file), serde_json::to_string(&run).unwrap()).unwrap();
        for (_, figure) in run.figures() {
            assert!(figure.as_str().chars().all(is_seen), "{}", figure.as_str());
        }
        let (page, summary) = (run.page().to_html(), run.summary());
        assert!(page.chars().all(is_seen) && summary.chars().all(is_seen), "{summary}");
    }
    let (before, after) = (folder.file("before.json"), folder.file("after.json"));
    check(&["bench", "compare", &before, &after]);
}

#[test]
fn colours_are_the_only_sequences_on_a_terminal() {
    let folder = Folder::new("hostile-colour");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 80)]);
    let object = hostile_object(&folder, "paper_count", &["rxcnt", "*count += 1;"]);
    let command = format!("{} run {object} --in {capture} --explain 1", env!("CARGO_BIN_EXE_xway"));
    let output = Command::new("script").args(["-qec", &command, "/dev/null"]).output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    assert!(text.contains("\x1b[1m"), "script(1) gives it a terminal: {}", text.escape_debug());
    for colour in report::text::COLOURS {
        text = text.replace(colour, "");
    }
    assert_eq!(text.chars().find(|c| !is_seen(*c)), None, "{}", text.escape_debug());
}
