//! Values of `extern … __kconfig`: given by name, or the defaults of the kernel played here.

use spec::Spec;

use super::Options;
use crate::error::{Error, Result};

/// Fills the places in the `.kconfig` map. What is weak and not given stays 0.
pub(super) fn fill(spec: &mut Spec, options: &Options) -> Result<()> {
    let object = spec.name.clone();
    let wrong = |source| Error::Object { object: object.clone(), source: Box::new(source) };
    for var in spec.kconfig.clone() {
        let given = options.kconfig.get(&var.name).map(String::as_str);
        if let Some(text) = given.or_else(|| known(&var.name)) {
            spec.set_kconfig(&var.name, text).map_err(wrong)?;
        } else if !var.weak {
            return Err(Error::Needs {
                object: spec.name.clone(),
                what: "configuration option",
                name: var.name,
                why: "give its value with --kconfig NAME=VALUE, take the host's with --world \
                      host, or declare it __weak if 0 will do"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Linux 6.18.0 on a 64-bit machine.
fn known(name: &str) -> Option<&'static str> {
    match name {
        "LINUX_KERNEL_VERSION" => Some("0x61200"),
        "LINUX_HAS_BPF_COOKIE" | "LINUX_HAS_SYSCALL_WRAPPER" => Some("1"),
        _ => None,
    }
}
