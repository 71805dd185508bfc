//! Loading an object's types: as they are, else without what older kernels do not know, else not
//! at all.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use spec::Spec;
use spec::btf::MissingFeatures;

use super::{Binding, LoadOptions};

/// Types that the kernel holds for this object.
#[derive(Debug)]
pub(super) struct LoadedBtf {
    fd: OwnedFd,
    /// Whether functions have types in it, which function information refers to.
    pub functions: bool,
}

impl AsFd for LoadedBtf {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// `None` when there are none, or the kernel takes none: then line numbers are missing, nothing
/// else.
pub(super) fn load(
    spec: &Spec,
    options: &LoadOptions,
    warnings: &mut Vec<String>,
) -> Option<LoadedBtf> {
    let btf = spec.btf.as_ref()?;
    if matches!(options.binding, Binding::Offload(_)) {
        return None;
    }
    let mut first = None;
    for lacks in generations() {
        let Ok(blob) = btf.for_kernel(lacks) else { continue };
        match sys::bpf::btf_load(blob.raw(), &mut []) {
            Ok(fd) => return Some(LoadedBtf { fd, functions: !lacks.func }),
            Err(error) => first = first.or(Some((error, blob))),
        }
    }
    let (error, blob) = first?;
    warnings.push(format!("loaded without BTF: {error}{}", complaint(blob.raw())));
    None
}

/// Each kernel lacks what all older ones lack too.
fn generations() -> impl Iterator<Item = MissingFeatures> {
    let steps: [fn(&mut MissingFeatures); 7] = [
        |lacks| lacks.enum64 = true,
        |lacks| lacks.type_tag = true,
        |lacks| lacks.decl_tag = true,
        |lacks| lacks.float = true,
        |lacks| lacks.global_func = true,
        |lacks| lacks.datasec = true,
        |lacks| lacks.func = true,
    ];
    let older = steps.into_iter().scan(MissingFeatures::default(), |lacks, step| {
        step(lacks);
        Some(*lacks)
    });
    std::iter::once(MissingFeatures::default()).chain(older)
}

/// The last line of the kernel's log about a blob that it refused.
fn complaint(blob: &[u8]) -> String {
    let mut log = vec![0; crate::limits::LOG_START];
    if sys::bpf::btf_load(blob, &mut log).is_ok() {
        return String::new();
    }
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.map(|line| format!(": {}", line.trim())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_grow_older() {
        let all: Vec<_> = generations().collect();
        assert_eq!(all.len(), 8);
        assert_eq!(all[0], MissingFeatures::default());
        assert!(all[1].enum64 && !all[1].type_tag);
        assert!(all[7].func && all[7].enum64);
    }
}
