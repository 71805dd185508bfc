//! `xway check`: the verifier's result, without attaching.

use std::path::{Path, PathBuf};
use std::process::Command;

use xway_tests::xway::{Xway, prebuilt};

/// One good program and one that reads without looking; line 9 is the mistake.
const MIXED: &str = r#"#include <linux/bpf.h>
#define SEC(name) __attribute__((section(name), used))

SEC("xdp") int good(struct xdp_md *ctx) { return XDP_PASS; }

SEC("xdp") int careless(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;
	return data[13] == 8 ? XDP_DROP : XDP_PASS;
}

SEC("nowhere") int homeless(struct xdp_md *ctx) { return XDP_PASS; }
char _license[] SEC("license") = "Dual MIT/GPL";
"#;

fn compile(folder: &Path, name: &str, source: &str) -> PathBuf {
    let file = folder.join(format!("{name}.c"));
    let object = folder.join(format!("{name}.o"));
    std::fs::write(&file, source).unwrap();
    let clang = std::env::var("BPF_CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let status = Command::new(clang)
        .args(["--target=bpf", "-O2", "-g", "-I/usr/include/x86_64-linux-gnu"])
        .args(["-I/usr/include/aarch64-linux-gnu", "-c", "-o"])
        .args([&object, &file])
        .status();
    assert!(status.unwrap().success());
    object
}

#[test]
fn built_in_programs_are_taken() {
    let xway = Xway::new();
    for name in ["drop", "forward"] {
        let report = xway.run(&["--json", "check", name]).json(0);
        assert_eq!(report["accepted"], true);
        assert_eq!(report["builtin"], true);
        let program = &report["programs"][0];
        assert_eq!(program["type"], "xdp");
        assert!(program["accepted"]["xlated_bytes"].as_u64().unwrap() > 0);
        assert!(program["accepted"]["maps"].to_string().contains("xway_stats"), "{program}");
    }
}

#[test]
fn a_refusal_names_line_source_and_remedy() {
    let xway = Xway::new();
    let object = compile(xway.state(), "mixed", MIXED);
    let object = object.to_str().unwrap();
    let report = xway.run(&["--json", "check", object, "--type", "xdp"]).json(1);
    assert_eq!(report["accepted"], false);
    let refused = &report["programs"][1]["refused"];
    assert!(refused["message"].as_str().unwrap().contains("invalid access to packet"));
    assert_eq!(refused["source"]["line"], 9);
    assert!(refused["source"]["file"].as_str().unwrap().ends_with("mixed.c"));
    assert!(refused["hint"].as_str().unwrap().contains("data_end"));
    assert_eq!(refused["log"], serde_json::Value::Null, "only when asked for");
    assert!(report["programs"][0]["accepted"].is_object());
    assert!(report["programs"][2]["accepted"].is_object(), "its type was given");

    let text = xway.run(&["check", object, "--program", "careless"]).ended(1);
    assert!(text.contains("mixed.c:9: "), "{text}");
    let log = xway.run(&["check", object, "--program", "careless", "--log"]).ended(1);
    assert!(log.len() > text.len() && log.contains("mixed.c:8"), "{log}");
    let log = xway.run(&["--json", "check", object, "--program", "careless", "--log"]).json(1);
    assert!(log["programs"][0]["refused"]["log"].as_str().unwrap().contains("\nprocessed "));

    xway.run(&["check", object, "--program", "good"]).ended(0);
    let text = xway.run(&["check", object, "--program", "homeless"]).ended(1);
    assert!(text.contains("has no type") && text.contains("--type"), "{text}");
}

#[test]
fn a_file_that_is_not_an_object_is_an_error() {
    let xway = Xway::new();
    let short = xway.state().join("short.o");
    std::fs::write(&short, &std::fs::read(prebuilt("drop.o")).unwrap()[..500]).unwrap();
    let mixed = compile(xway.state(), "mixed", MIXED);
    let (short, mixed) = (short.to_str().unwrap(), mixed.to_str().unwrap());
    let table: &[(&[&str], &str)] = &[
        (&["check", "dorp"], "built in are drop, forward"),
        (&["check", "/etc/hostname"], "not an ELF file"),
        (&["check", short], "damaged or truncated"),
        (&["check", "/proc/self/exe"], "not for BPF"),
        (&["check", "missing.o"], "cannot read missing.o"),
        (&["check", mixed, "--program", "none"], "it has good, careless, homeless"),
        (&["check", mixed, "--type", "nonsense"], "unknown program type `nonsense`"),
    ];
    for (arguments, part) in table {
        let text = xway.run(arguments).error();
        assert!(text.contains(part), "{arguments:?}: {text}");
    }
}

/// Maps as a hurried author defines them, in a dialect that needs no headers.
const FLAWED: &str = r#"#include <linux/bpf.h>
#define SEC(name) __attribute__((section(name), used))
struct bpf_map_def { unsigned int type, key_size, value_size, max_entries, map_flags; };
struct bpf_map_def SEC("maps") trie = { BPF_MAP_TYPE_LPM_TRIE, 8, 8, 16, 0 };
struct bpf_map_def SEC("maps") empty = { BPF_MAP_TYPE_HASH, 4, 8, 0, 0 };
static void *(*lookup)(void *, const void *) = (void *)BPF_FUNC_map_lookup_elem;
SEC("xdp") int longest(struct xdp_md *ctx)
{
	unsigned long key = 0;
	return lookup(&trie, &key) ? XDP_DROP : XDP_PASS;
}
SEC("xdp") int none(struct xdp_md *ctx)
{
	int key = 0;
	return lookup(&empty, &key) ? XDP_DROP : XDP_PASS;
}
SEC("tp_btf/xdp_exception") int traced(void *ctx) { return 0; }
SEC("iter/bpf_map") int listed(void *ctx) { return 0; }
char _license[] SEC("license") = "GPL";
"#;

#[test]
fn what_the_kernel_refuses_without_a_message_is_explained() {
    let xway = Xway::new();
    let object = compile(xway.state(), "flawed", FLAWED);
    let object = object.to_str().unwrap();
    for (program, words) in [
        ("longest", "map `trie`: an LPM trie needs the flag BPF_F_NO_PREALLOC"),
        ("none", "map `empty`: it has no entries: set max_entries, or --map-size NAME=N"),
        ("traced", "program `traced` in section `tp_btf/xdp_exception`: it traces the kernel"),
        ("listed", "program `listed` in section `iter/bpf_map`: it traces the kernel"),
    ] {
        let report = xway.run(&["--json", "check", object, "--program", program]).json(1);
        let message = report["programs"][0]["refused"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{program}: {message}");
    }
    let sized = ["check", object, "--program", "none", "--map-size", "empty=8"];
    xway.run(&sized).ended(0);
    for (words, remedy) in [
        (["--map-size", "nothing=8"], "has no map `nothing`; it has trie, empty"),
        (["--map-size", "empty=0"], "'empty=0' for '--map-size <NAME=N>': expected a number"),
        (["--kconfig", "CONFIG_HZ=8"], "does not read the configuration option `CONFIG_HZ`"),
    ] {
        let answer = xway.run(&[&["check", object][..], &words].concat());
        assert_eq!(answer.code, 2);
        assert!(answer.stderr.contains(remedy), "{}", answer.stderr);
    }
}

#[test]
fn nothing_remains_loaded() {
    let xway = Xway::new();
    xway.run(&["check", prebuilt("test/old_maps.o").to_str().unwrap()]).ended(0);
    let programs = xway.run(&["prog", "list"]).ended(0);
    assert!(!programs.contains("look_up"), "{programs}");
}
