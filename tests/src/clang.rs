//! Objects from C source: as files, as users have them, or as a `Spec`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use spec::Spec;

/// Compiles `source` after the usual definitions into `FOLDER/NAME.o`.
pub fn compile(folder: &Path, name: &str, source: &str) -> PathBuf {
    compile_for("bpf", folder, name, source)
}

/// Compiles for another target, such as `bpfeb`.
pub fn compile_for(target: &str, folder: &Path, name: &str, source: &str) -> PathBuf {
    build(target, &["-g"], &folder.join(name), source)
}

/// What is read of the object, with BTF and line numbers.
pub fn read(name: &str, source: &str) -> Spec {
    parse(name, &["-g"], source)
}

/// Compiles and reads an object without any types.
pub fn read_bare(name: &str, source: &str) -> Spec {
    parse(name, &[], source)
}

fn parse(name: &str, options: &[&str], source: &str) -> Spec {
    // Tests run side by side.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = format!("xway-test-{name}-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    fs::create_dir(&folder).unwrap();
    let bytes = fs::read(build("bpf", options, &folder.join(name), source)).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    Spec::parse(&format!("{name}.o"), &bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// Into `STEM.o`, by way of `STEM.c`.
fn build(target: &str, options: &[&str], stem: &Path, source: &str) -> PathBuf {
    let [file, object] = ["c", "o"].map(|ending| stem.with_extension(ending));
    fs::write(&file, format!("{HEADER}{source}\n{LICENSE}\n")).unwrap();
    let clang = std::env::var("BPF_CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let output = Command::new(clang)
        .arg(format!("--target={target}"))
        .args(["-O2", "-mcpu=v3", "-I/usr/include/x86_64-linux-gnu"])
        .args(["-I/usr/include/aarch64-linux-gnu", "-Wno-missing-declarations"])
        .args(options)
        .args(["-c", "-o"])
        .args([&object, &file])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    object
}

const HEADER: &str = r#"#include <linux/bpf.h>
#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __weak __attribute__((weak))
"#;
const LICENSE: &str = r#"char _license[] SEC("license") = "Dual MIT/GPL";"#;
