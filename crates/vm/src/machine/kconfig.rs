//! Values of `extern … __kconfig` variables: given by name, or those of the emulated kernel.

use spec::Spec;

use super::Options;
use crate::error::{Error, Result};

/// Sets the variables in the `.kconfig` map. A weak variable without a value remains 0.
pub(super) fn fill(spec: &mut Spec, options: &Options) -> Result<()> {
    let object = spec.name.clone();
    let wrong = |source| Error::Object { object: object.clone(), source: Box::new(source) };
    for var in spec.kconfig.clone() {
        let given = options.kconfig.get(&var.name).map(String::as_str);
        if let Some(text) = given.or_else(|| known(&var.name)) {
            spec.set_kconfig(&var.name, text).map_err(wrong)?;
        } else if !var.weak {
            return Err(Error::Kconfig { object: spec.name.clone(), name: var.name });
        }
    }
    Ok(())
}

/// Value of an option on Linux 6.18.0 on a 64-bit machine.
fn known(name: &str) -> Option<&'static str> {
    match name {
        "LINUX_KERNEL_VERSION" => Some("0x61200"),
        "LINUX_HAS_BPF_COOKIE" | "LINUX_HAS_SYSCALL_WRAPPER" => Some("1"),
        _ => None,
    }
}
