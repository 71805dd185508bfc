//! Objects from C source inside a test.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use spec::Spec;

/// With BTF and line numbers.
pub fn compile(name: &str, source: &str) -> Spec {
    build(name, source, &["-g"])
}

/// Without any types.
pub fn compile_bare(name: &str, source: &str) -> Spec {
    build(name, source, &[])
}

fn build(name: &str, source: &str, options: &[&str]) -> Spec {
    // Tests run side by side.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let stem = format!("xway-test-{name}-{}-{number}", std::process::id());
    let file = std::env::temp_dir().join(format!("{stem}.c"));
    let object = std::env::temp_dir().join(format!("{stem}.o"));
    std::fs::write(&file, format!("{HEADER}\n{source}\n{LICENSE}\n")).unwrap();
    let output = Command::new(clang())
        .args(["--target=bpf", "-O2", "-mcpu=v3", "-I/usr/include/x86_64-linux-gnu"])
        .args(["-I/usr/include/aarch64-linux-gnu", "-Wno-missing-declarations", "-c"])
        .args(options)
        .arg("-o")
        .arg(&object)
        .arg(&file)
        .output()
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&object).unwrap();
    std::fs::remove_file(&object).unwrap();
    Spec::parse(&format!("{name}.o"), &bytes).unwrap_or_else(|error| panic!("{error}"))
}

fn clang() -> PathBuf {
    std::env::var_os("BPF_CLANG").map_or_else(|| PathBuf::from("clang-19"), PathBuf::from)
}

const HEADER: &str = r#"
#include <linux/bpf.h>
#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __weak __attribute__((weak))
"#;

const LICENSE: &str = r#"char _license[] SEC("license") = "Dual MIT/GPL";"#;
