//! `asm` and `disasm --assembly`: source to object and back, without root.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod support;

use std::fs;

use support::{Folder, object, udp, xway};

/// Counts frames by protocol, passes UDP and drops all others.
const SOURCE: &str = r#"
    .license "GPL"
    .map packets array key=4 value=8 entries=256
    .section .rodata
passed: .long 17
    .section xdp
count:
    r6 = r1
    r7 = *(u32 *)(r1 + 4)
    r8 = *(u32 *)(r1 + 0)
    r2 = r8
    r2 += 24
    if r2 > r7 goto drop
    r9 = *(u8 *)(r8 + 23)
    *(u32 *)(r10 - 4) = r9
    r2 = r10
    r2 += -4
    r1 = packets ll
    call bpf_map_lookup_elem
    if r0 == 0 goto drop
    r1 = 1
    lock *(u64 *)(r0 + 0) += r1
    r1 = passed ll
    r1 = *(u32 *)(r1 + 0)
    r0 = 2
    if r9 == r1 goto out
drop:
    r0 = 1
out:
    exit
"#;

#[test]
fn source_runs_as_it_is_and_as_an_object() {
    let folder = Folder::new("asm");
    let source = folder.file("count.s");
    fs::write(&source, SOURCE).unwrap();
    let capture = folder.capture("in.pcapng", &[udp([10, 0, 0, 2], 53), vec![0; 60]]);

    let assembled = xway(&["asm", &source, "--json"]);
    assert_eq!(assembled.code, 0, "{assembled:?}");
    let report = assembled.json();
    let path = folder.file("count.o");
    assert_eq!(report["object"], path.as_str());
    assert_eq!(report["programs"][0]["name"], "count");
    assert_eq!(report["maps"], serde_json::json!(["packets", ".rodata"]));

    let again = folder.file("again.s");
    fs::write(&again, xway(&["disasm", &path, "--assembly"]).stdout).unwrap();
    for object in [&source, &path, &again] {
        let run = xway(&["run", object, "--in", &capture, "--json"]);
        assert_eq!(run.code, 0, "{run:?}");
        let verdicts = &run.json()["verdicts"];
        assert_eq!(verdicts["pass"], 1, "{object}: {verdicts}");
        assert_eq!(verdicts["drop"], 1, "{object}: {verdicts}");
    }
}

#[test]
fn mistakes_name_file_line_and_column() {
    let folder = Folder::new("asm-mistake");
    let source = folder.file("wrong.s");
    fs::write(&source, ".section xdp\nwrong:\n    goto nowhere\n").unwrap();
    for words in [["asm", &source], ["disasm", &source]] {
        let answer = xway(&words);
        assert_eq!(answer.code, 2, "{answer:?}");
        let expected = "wrong.s: line 3, column 10: `nowhere`, expected a label";
        assert!(answer.stderr.contains(expected), "{answer:?}");
    }
    assert!(!folder.path().join("wrong.o").exists());
}

#[test]
fn objects_that_need_types_have_no_source() {
    let answer = xway(&["disasm", &object("redirect"), "--assembly"]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.stderr.contains("which assembly source cannot describe"), "{answer:?}");
}
