//! Objects from C source, as users would bring them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `source` behind the usual definitions into `FOLDER/NAME.o`.
pub fn compile(folder: &Path, name: &str, source: &str) -> PathBuf {
    compile_for("bpf", folder, name, source)
}

/// The same for another target, such as `bpfeb`.
pub fn compile_for(target: &str, folder: &Path, name: &str, source: &str) -> PathBuf {
    let file = folder.join(format!("{name}.c"));
    let object = folder.join(format!("{name}.o"));
    fs::write(&file, format!("{HEADER}{source}\n{LICENSE}\n")).unwrap();
    let clang = std::env::var("BPF_CLANG").unwrap_or_else(|_| "clang-19".to_owned());
    let output = Command::new(clang)
        .arg(format!("--target={target}"))
        .args(["-O2", "-g", "-mcpu=v3", "-I/usr/include/x86_64-linux-gnu"])
        .args(["-I/usr/include/aarch64-linux-gnu", "-c", "-o"])
        .args([&object, &file])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    object
}

const HEADER: &str = r#"#include <linux/bpf.h>
#define SEC(name) __attribute__((section(name), used))
"#;
const LICENSE: &str = r#"char _license[] SEC("license") = "Dual MIT/GPL";"#;
