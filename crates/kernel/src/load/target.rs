//! Field relocations: against the given types, else the running kernel's.

use spec::Spec;

use super::LoadOptions;
use super::symbols::Host;
use crate::error::{Error, Result};

/// A copy with every field access relocated for the target; `None` if there is none to relocate.
pub(super) fn relocated(
    spec: &Spec,
    options: &LoadOptions,
    host: &mut Host,
) -> Result<Option<Spec>> {
    if !spec.needs_target() {
        return Ok(None);
    }
    let target = match &options.target {
        Some(target) => Some(target),
        None => host.types()?,
    };
    let Some(target) = target else {
        return Err(Error::Unresolved {
            what: "kernel types",
            name: "/sys/kernel/btf/vmlinux".to_owned(),
            why: " (CONFIG_DEBUG_INFO_BTF); give a BTF file made for it".to_owned(),
        });
    };
    let mut copy = spec.clone();
    copy.relocate(target)?;
    Ok(Some(copy))
}
