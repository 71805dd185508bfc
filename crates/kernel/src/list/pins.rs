//! Which program, map or link is pinned where.

use std::collections::HashMap;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use sys::bpf::{self, Kind};

use crate::limits::LISTING_LIMIT;

/// All pins in the bpf file systems that this process sees, as far as it may open them.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    by_object: HashMap<(Kind, u32), Vec<PathBuf>>,
}

impl Pins {
    /// Reads the bpf file systems of this mount namespace.
    pub fn now() -> Self {
        let mut pins = Self::default();
        let mut left = LISTING_LIMIT;
        for mount in sys::mount::bpffs_mounts() {
            pins.walk(&mount, &mut left);
        }
        for paths in pins.by_object.values_mut() {
            paths.sort();
            paths.dedup();
        }
        pins
    }

    /// Paths at which a program is pinned.
    pub fn of_program(&self, id: u32) -> &[PathBuf] {
        self.of(Kind::Prog, id)
    }

    /// Paths at which a map is pinned.
    pub fn of_map(&self, id: u32) -> &[PathBuf] {
        self.of(Kind::Map, id)
    }

    /// Paths at which a link is pinned.
    pub fn of_link(&self, id: u32) -> &[PathBuf] {
        self.of(Kind::Link, id)
    }

    fn of(&self, kind: Kind, id: u32) -> &[PathBuf] {
        self.by_object.get(&(kind, id)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Directories without permission, and what vanishes meanwhile, are left out.
    fn walk(&mut self, folder: &Path, left: &mut usize) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(less) = left.checked_sub(1) else { return };
            *left = less;
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.walk(&path, left),
                Ok(kind) if kind.is_file() => {
                    if let Some(object) = object(&path) {
                        self.by_object.entry(object).or_default().push(path);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Kind and id of the object that is pinned at a path.
fn object(path: &Path) -> Option<(Kind, u32)> {
    let path = path.to_str()?;
    // Maps need less permission for reading alone, which others cannot be opened for.
    let fd = bpf::open_pin(path).or_else(|_| bpf::open_pin_read_only(path)).ok()?;
    let kind = bpf::obj_kind(fd.as_fd()).ok()??;
    let id = match kind {
        Kind::Prog => bpf::prog_info(fd.as_fd()).ok()?.id,
        Kind::Map => bpf::map_info(fd.as_fd()).ok()?.id,
        Kind::Link => bpf::link_info(fd.as_fd()).ok()?.id,
        Kind::Btf => return None,
    };
    Some((kind, id))
}
