//! Types of kernel modules, which contain only additions to the kernel's own.
//!
//! A module's ids continue where the kernel's end, and so do its string offsets. So the two blobs
//! joined section by section are one complete blob with the ids that the kernel uses.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

use spec::btf::Btf;
use sys::bpf::{self, Kind};

use crate::limits::LISTING_LIMIT;

#[derive(Debug)]
pub(super) struct Module {
    /// Descriptor of the module's BTF.
    pub fd: OwnedFd,
    /// The module's own types, with ids that continue the kernel's.
    pub btf: Btf,
}

/// Opens the types of all modules, for loads after this process has given up `CAP_SYS_ADMIN`.
/// Nothing is read.
pub fn open_module_types() {
    let _opened_before = OPENED.set(open_all());
}

/// The types of all modules that this process may see.
pub(super) fn all(base: &Btf) -> Vec<Module> {
    let opened = OPENED.get().map(|opened| opened.iter().map(OwnedFd::try_clone));
    match opened {
        Some(opened) => opened.filter_map(|fd| read(base, fd.ok()?)).collect(),
        None => open_all().into_iter().filter_map(|fd| read(base, fd)).collect(),
    }
}

/// Types that were opened in advance.
static OPENED: OnceLock<Vec<OwnedFd>> = OnceLock::new();

fn open_all() -> Vec<OwnedFd> {
    let mut opened = Vec::new();
    let mut id = 0;
    for _ in 0..LISTING_LIMIT {
        let Ok(Some(next)) = bpf::next_id(Kind::Btf, id) else { break };
        id = next;
        let fd = bpf::fd_by_id(Kind::Btf, id).ok();
        opened.extend(fd.filter(is_module));
    }
    opened
}

fn is_module(fd: &OwnedFd) -> bool {
    bpf::btf_info(fd.as_fd(), false).is_ok_and(|head| head.kernel && head.name != "vmlinux")
}

fn read(base: &Btf, fd: OwnedFd) -> Option<Module> {
    let info = bpf::btf_info(fd.as_fd(), true).ok()?;
    let joined = join(base.raw(), &info.raw)?;
    Some(Module { fd, btf: Btf::parse(&joined).ok()? })
}

/// Both blobs as one. `None` when one is shorter than its header states.
fn join(base: &[u8], module: &[u8]) -> Option<Vec<u8>> {
    let (base, module) = (Sections::of(base)?, Sections::of(module)?);
    let types = base.types.len() + module.types.len();
    let strings = base.strings.len() + module.strings.len();
    let mut joined = base.head.to_vec();
    let words = [HEADER_LEN, 0, types, types, strings].map(|word| word as u32);
    joined.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    for part in [base.types, module.types, base.strings, module.strings] {
        joined.extend_from_slice(part);
    }
    Some(joined)
}

/// `struct btf_header`: magic, version and flags (4 bytes), then five words.
const HEADER_LEN: usize = 24;

struct Sections<'a> {
    head: &'a [u8],
    types: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Sections<'a> {
    fn of(blob: &'a [u8]) -> Option<Self> {
        let word = |at: usize| {
            let bytes = blob.get(at..at + 4)?;
            usize::try_from(u32::from_ne_bytes(bytes.try_into().ok()?)).ok()
        };
        let start = word(4)?;
        let section = |at, len| {
            let from = start.checked_add(word(at)?)?;
            blob.get(from..from.checked_add(word(len)?)?)
        };
        Some(Self { head: blob.get(..4)?, types: section(8, 12)?, strings: section(16, 20)? })
    }
}

#[cfg(test)]
mod tests {
    use spec::btf::{Builder, Kind, Linkage};

    use super::*;

    /// A module's blob: the types of `whole` after those of `base`.
    fn split(base: &Btf, whole: &Btf) -> Vec<u8> {
        let (base, whole) = (Sections::of(base.raw()).unwrap(), Sections::of(whole.raw()).unwrap());
        let types = &whole.types[base.types.len()..];
        let strings = &whole.strings[base.strings.len()..];
        let mut blob = whole.head.to_vec();
        let words = [HEADER_LEN, 0, types.len(), types.len(), strings.len()];
        blob.extend(words.iter().flat_map(|word| (*word as u32).to_ne_bytes()));
        blob.extend([types, strings].concat());
        blob
    }

    #[test]
    fn a_modules_types_are_found_under_the_kernels_ids() {
        let mut kernel = Builder::new();
        let int = kernel.int("int", 32, true);
        let base = kernel.build().unwrap();
        let mut both = Builder::extend(&base);
        let proto = both.func_proto(int, &[]);
        let id = both.func("bpf_xdp_ct_lookup", proto, Linkage::Global);
        let whole = both.build().unwrap();

        let module = split(&base, &whole);
        let joined = Btf::parse(&join(base.raw(), &module).unwrap()).unwrap();
        assert_eq!(joined.find(Kind::Func, "bpf_xdp_ct_lookup"), Some(id));
        assert_eq!(joined.find(Kind::Int, "int"), Some(int));
        assert_eq!(join(base.raw(), &module[..20]), None, "a header cut short");
        assert_eq!(join(base.raw(), &module[..30]), None, "types cut short");
    }
}
