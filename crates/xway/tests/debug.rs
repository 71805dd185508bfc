//! `xway debug` as a person or a script uses it: commands in, results out.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod support;

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{Answer, Folder, object, udp, xway};

const SOURCE: &str = include_str!("../../../bpf/test/locals.bpf.c");

/// Stops at a line, shows a map, and steps back over a write.
#[test]
fn a_recorded_session() {
    let folder = Folder::new("debug-session");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 53)]);
    let line = numbered("known->packets += 1");
    let write = numbered("data[11] ^= 0x55");
    let commands = [
        format!("break {}", write),
        "continue".to_owned(),
        "print packet[11]".to_owned(),
        "next".to_owned(),
        "print packet[11]".to_owned(),
        "reverse-next".to_owned(),
        "print packet[11]".to_owned(),
        "delete".to_owned(),
        "next 2".to_owned(),
        "print map counts[3].bytes".to_owned(),
        "info map counts".to_owned(),
        format!("list {line}"),
        "quit".to_owned(),
        "never reached".to_owned(),
    ];
    let answer = session(&capture, &[], &commands.join("\n"));
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{answer:?}");
    let place = |line: usize| format!("locals_first at bpf/test/locals.bpf.c:{line}\n");
    assert!(
        answer.stdout.contains(&format!("breakpoint 1, packet 1, {}", place(write))),
        "{answer:?}"
    );
    let values: Vec<_> =
        answer.stdout.lines().filter(|line| line.starts_with("packet[11] = ")).collect();
    assert_eq!(values, ["packet[11] = hex:09", "packet[11] = hex:5c", "packet[11] = hex:09"]);
    assert!(answer.stdout.contains("map counts[3].bytes = 60 (__u64)"), "{answer:?}");
    assert!(answer.stdout.contains("3: {packets: 1, bytes: 60}"), "{answer:?}");
    assert!(answer.stdout.contains("known->packets += 1;"), "{answer:?}");
}

#[test]
fn each_result_is_an_object_of_its_own() {
    let folder = Folder::new("debug-json");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 53)]);
    let commands = "b map counts if $packet == 1\nwatch total\ninfo breakpoints\nc\nc\nbt\n\
                    p total\ninfo registers\ninfo packet\nx 12 2\ninfo maps\n\
                    info map counts\nlist\ndisassemble\nhelp b\nnonsense\nc 99\n";
    let answer = session(&capture, &["--json"], commands);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{answer:?}");
    let results: Vec<Value> =
        answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys: Vec<_> = results
        .iter()
        .map(|result| result.as_object().unwrap().keys().next().unwrap().as_str())
        .collect();
    let expected = [
        "stop",
        "breakpoint",
        "breakpoint",
        "breakpoints",
        "stop",
        "stop",
        "frames",
        "value",
        "values",
        "packet",
        "dump",
        "maps",
        "map",
        "source",
        "code",
        "help",
        "error",
        "stop",
    ];
    assert_eq!(keys, expected);
    assert_eq!(results[4]["stop"]["reason"]["kind"], "watchpoint");
    assert_eq!(
        results[5]["stop"]["reason"],
        serde_json::json!({"kind": "breakpoint", "number": 1})
    );
    assert_eq!(results[6]["frames"][1]["function"], "locals_first");
    assert_eq!(results[7]["value"]["value"], 34);
    assert_eq!(results[10]["dump"], serde_json::json!({"offset": 12, "bytes": "0800"}));
    assert_eq!(results[17]["stop"]["verdict"], "pass");
}

#[test]
fn disabled_breakpoints_and_watchpoints_are_kept_without_effect() {
    let folder = Folder::new("debug-disable");
    let packets = [1, 2, 3, 4].map(|last| udp([10, 1, 0, last], 53));
    let capture = folder.capture("in.pcapng", &packets);
    let commands = "break weigh\nwatch total\ndprintf count,\"counts\"\n\
                    disable 1 3\nc\ndisable\nc\npacket 1\nenable 1\nhits 1 3\n\
                    disable\nenable 1\nc\ndelete 2\nenable 1 9\n\
                    info breakpoints\nenable 3\npacket 1\npacket 2\nhits 1\ndisable 1\nc\n\
                    disable x\n";
    let answer = session(&capture, &["--json"], commands);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{answer:?}");
    let results: Vec<Value> =
        answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let enabled = |at: usize| -> Vec<bool> {
        let points = results[at]["breakpoints"].as_array().unwrap().iter();
        points.map(|point| point["enabled"].as_bool().unwrap()).collect()
    };
    let reason = |at: usize| results[at]["stop"]["reason"]["kind"].as_str().unwrap();
    assert_eq!(results[1]["breakpoint"]["enabled"], true);
    assert_eq!(enabled(4), [false, true, false]);
    assert_eq!(reason(5), "watchpoint");
    assert_eq!(results[5]["stop"]["log"], serde_json::json!([]));
    assert_eq!(enabled(6), [false; 3]);
    assert_eq!(reason(7), "end_of_capture", "{}", results[7]);
    assert_eq!(enabled(9), [true, false, false]);
    // Its hits are those since the beginning, though it was disabled for most of them.
    assert_eq!((reason(13), &results[13]["stop"]["packet"]), ("breakpoint", &3.into()));
    let error = results[15]["error"].as_str().unwrap();
    assert!(error.contains("9"), "{error}");
    assert_eq!(enabled(16), [true, false], "one unknown number has no effect");
    assert_eq!(enabled(21), [false, true]);
    assert_eq!(reason(22), "end_of_capture", "{}", results[22]);
    assert_eq!(results[22]["stop"]["log"].as_array().unwrap().len(), 3);
    assert!(results[23]["error"].as_str().unwrap().contains("`x` is not a valid number"));
    let answer = session(&capture, &[], "watch total\ndisable\n");
    assert!(answer.stdout.contains("watchpoint 1: total, disabled\n"), "{answer:?}");
}

#[test]
fn arguments_are_the_parameters_of_the_chosen_function() {
    let folder = Folder::new("debug-args");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 53)]);
    let commands = "break weigh\nc\ninfo args\ninfo locals\nup\ninfo args\n";
    let answer = session(&capture, &["--json"], commands);
    let results: Vec<Value> =
        answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names = |at: usize| -> Vec<&str> {
        let values = results[at]["values"].as_array().unwrap().iter();
        values.map(|value| value["name"].as_str().unwrap()).collect()
    };
    assert_eq!(names(3), ["endpoint", "factor"]);
    let factor = &results[3]["values"][1];
    assert_eq!((&factor["type"], &factor["value"]), (&"int".into(), &3.into()), "{factor}");
    assert!(names(4).contains(&"weight") && names(4).contains(&"factor"));
    assert_eq!(names(6), ["ctx"]);
}

/// The frames of a stack, with a value that is shown at each stop, and memory.
#[test]
fn frames_displays_and_memory() {
    let folder = Folder::new("debug-frames");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 53)]);
    let commands = "break weigh\ndisplay endpoint.port\ncontinue\nframe\nup\ninfo registers\n\
                    info frame\np endpoint.tags\nx/4 data\nx/2xh &x\nup\ndown\nundisplay 1\n\
                    undisplay 1\nuntil\nx/8q data\nuntil count\n";
    let answer = session(&capture, &["--json"], commands);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{answer:?}");
    let results: Vec<Value> =
        answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(results[2]["displays"][0]["number"], 1);
    let shown = &results[3]["stop"]["displays"][0];
    assert_eq!(shown["name"], "endpoint.port");
    assert!(shown["text"].as_str().unwrap().starts_with("<what has no members"), "{shown}");
    assert_eq!(results[4]["frame"]["number"], 0);
    assert_eq!(results[5]["frame"]["function"], "locals_first");
    assert_eq!(results[6]["values"][0]["name"], "r6");
    assert_eq!(results[7]["frame"], results[5]["frame"]);
    assert_eq!(results[8]["value"]["value"][1], 0);
    let memory = serde_json::json!({"address": "packet+0 (eth.dst)", "bytes": "02000000"});
    assert_eq!(results[9]["memory"], memory);
    assert!(results[10]["error"].is_string(), "no addresses are taken: {}", results[10]);
    assert!(results[11]["error"].as_str().unwrap().contains("outermost"), "{}", results[11]);
    assert_eq!(results[12]["frame"]["function"], "weigh");
    assert_eq!(results[13]["displays"], serde_json::json!([]));
    assert!(results[14]["error"].as_str().unwrap().contains("no display has number 1"));
    let line = |at: usize| results[at]["stop"]["place"]["source"]["line"].as_u64().unwrap();
    assert!(line(15) > line(3), "{}", results[15]);
    assert!(results[16]["error"].as_str().unwrap().contains("`q` is not supported"));
    assert_eq!(results[17]["stop"]["place"]["function"], "count");
}

#[test]
fn scripts_end_with_their_first_error() {
    let folder = Folder::new("debug-script");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 53)]);
    let script = folder.file("script");
    fs::write(&script, "# where packets leave\nbreak verdict pass\ncontinue\n").unwrap();
    let words = words(&capture);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let with = |more: &[&str]| xway(&[&words[..], more].concat());
    let answer = with(&["-x", &script, "--command", "reverse-step"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.stdout.contains("breakpoint 1, packet 1: verdict pass"), "{answer:?}");
    assert!(answer.stdout.contains("locals_last at"), "{answer:?}");
    fs::write(&script, "step\nbreak nowhere\nstep\n").unwrap();
    let answer = with(&["-x", &script]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.stderr.contains("script:2: break nowhere: there is no function"), "{answer:?}");
    let failures: [(&[&str], &str); 4] = [
        (&["--packet", "2"], "the capture has 1 packets, not 2"),
        (&["--command", "print r99x"], "there is no variable or header `r99x`"),
        (&["--command", "step 0"], "a motion is repeated 1 to"),
        (&["-x", "/nonexistent"], "/nonexistent"),
    ];
    for (more, expected) in failures {
        let answer = with(more);
        assert!(answer.code == 2 && answer.stderr.contains(expected), "{more:?}: {answer:?}");
    }
}

#[test]
fn errors_of_a_session_do_not_end_it() {
    let folder = Folder::new("debug-errors");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 53)]);
    let answer = session(&capture, &[], "print 1 +\njump\n\u{1b}[31m\nprint 2 + 2\n");
    assert_eq!(answer.code, 0);
    assert!(answer.stderr.contains("invalid expression `1 +`"), "{answer:?}");
    assert!(!answer.stderr.contains('\u{1b}'), "{answer:?}");
    assert!(answer.stdout.ends_with("2 + 2 = 4\n"), "{answer:?}");
    let long = "p ".to_owned() + &"1".repeat(70_000);
    assert_eq!(session(&capture, &[], &long).code, 2, "a line has a limit");
}

/// Source files show lines that have no code.
#[test]
fn source_files_are_found_below_a_directory() {
    let folder = Folder::new("debug-source");
    let capture = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 53)]);
    let path = folder.path().join("bpf/test");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("locals.bpf.c"), SOURCE).unwrap();
    let line = numbered("locals_first(struct xdp_md *ctx)");
    let dir = folder.path().to_str().unwrap();
    let with = session(&capture, &["--source", dir], &format!("list {line}\n"));
    assert!(with.stdout.contains("SEC(\"xdp\")"), "{with:?}");
    let without = session(&capture, &[], &format!("list {line}\n"));
    assert!(!without.stdout.contains("SEC(\"xdp\")"), "{without:?}");
}

fn words(capture: &str) -> Vec<String> {
    let object = object("test/locals");
    ["debug", &object, "--program", "locals_first", "--in", capture].map(str::to_owned).to_vec()
}

/// Runs a session whose commands come from standard input.
fn session(capture: &str, more: &[&str], commands: &str) -> Answer {
    let mut child = Command::new(env!("CARGO_BIN_EXE_xway"))
        .args(words(capture))
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe takes all of it before anything is read.
    let _closed_early = child.stdin.take().unwrap().write_all(commands.as_bytes());
    let output = child.wait_with_output().unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Number of the first line of the source that contains a text.
fn numbered(text: &str) -> usize {
    SOURCE.lines().position(|line| line.contains(text)).unwrap() + 1
}

#[test]
fn breakpoints_count_write_and_stop_once() {
    let folder = Folder::new("debug-hits");
    let capture = folder.capture("in.pcapng", &vec![udp([10, 1, 0, 2], 53); 4]);
    let commands = "tbreak count\nhits 1 2\nc\ninfo breakpoints\ndprintf count,\"{bytes} bytes\"\n\
                    ignore 2 3\nc\ndprintf count\nhits 1 0\n";
    let answer = session(&capture, &[], commands);
    let expected = [
        "breakpoint 1: count, once\n",
        "breakpoint 1: count, hits == 2, once\n",
        "breakpoint 1, packet 2, count at",
        "no breakpoints\n",
        "breakpoint 2: count, hits > 3, writes {bytes} bytes\n",
        "packet 4: 60 bytes\nend of the capture, packet 4: verdict",
    ];
    let mut rest = answer.stdout.as_str();
    for text in expected {
        let at = rest.find(text).unwrap_or_else(|| panic!("no `{text}` in {answer:?}"));
        rest = &rest[at + text.len()..];
    }
    assert!(!answer.stdout.contains("packet 3: 60 bytes"), "{answer:?}");
    for error in ["expected PLACE,MESSAGE", "invalid hit count `0`"] {
        assert!(answer.stderr.contains(error), "{answer:?}");
    }
}
