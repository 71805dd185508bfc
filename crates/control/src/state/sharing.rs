//! Permissions of a state that a group may read.
//!
//! Rule: the group may open directories, and maps without which a report could not be made. It may
//! open no program, since its holder can run it, and so change what it counts; no lock, since its
//! holder keeps others out; no secret (the seeds of hashes and cookies), and no map of a program
//! that another author wrote. Everything else in the state is for its owner alone.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;

use filter::maps::{BANS, CARRIED, COUNTS, EVENTS, LIMITS, LINES, RULES};
use functions::{drop, route, stats};
use spec::compose;
use sys::dir::{SHARED_DIR, readers};

use crate::map_names::{
    DEADLINE, FILTER_FILE, FILTER_GLOBALS, HEALTH, LABELS, MEMBER, RECORD, SYNC,
};

/// Creates a directory. The group of the directory around it may read it if it may read that one.
pub fn create_dir(path: &Path) -> io::Result<()> {
    if group(path)?.is_none() {
        return DirBuilder::new().mode(PRIVATE_DIR).create(path);
    }
    DirBuilder::new().mode(SHARED_DIR & 0o777).create(path)?;
    // The new directory has the group, unless the umask withdrew its permissions.
    if fs::metadata(path)?.mode() & 0o7777 != SHARED_DIR {
        fs::set_permissions(path, Permissions::from_mode(SHARED_DIR))?;
    }
    Ok(())
}

/// Lets the group that may read the directory open the pinned map in it.
pub fn share_map(path: &Path) -> io::Result<()> {
    match group(path)? {
        Some(_) => fs::set_permissions(path, Permissions::from_mode(SHARED_MAP)),
        None => Ok(()),
    }
}

/// Lets a group read everything in a bpffs that it may read.
pub fn share_all(bpffs: &Path, readers: u32) -> io::Result<()> {
    let mut folders = vec![bpffs.to_owned()];
    while let Some(folder) = folders.pop() {
        chown(&folder, None, Some(readers))?;
        fs::set_permissions(&folder, Permissions::from_mode(SHARED_DIR))?;
        for entry in fs::read_dir(&folder)? {
            let (path, name) = (
                entry.as_ref().map(fs::DirEntry::path),
                entry.as_ref().map(fs::DirEntry::file_name),
            );
            let (Ok(path), Ok(name)) = (path, name) else { continue };
            if path.is_dir() {
                folders.push(path);
            } else if is_shared(&name.to_string_lossy()) || name == IDENTITY {
                chown(&path, None, Some(readers))?;
                share_map(&path)?;
            }
        }
    }
    Ok(())
}

/// Whether a map of this name is needed for reports, and has no secret.
pub fn is_shared(map: &str) -> bool {
    SHARED.contains(&map)
}

/// The group that may read the directory around a path.
fn group(path: &Path) -> io::Result<Option<u32>> {
    Ok(readers(&fs::metadata(path.parent().unwrap_or(path))?))
}

/// Maps that reports are made of.
const SHARED: [&str; 25] = [
    stats::MAP,
    compose::VERDICTS_MAP,
    LABELS,
    RECORD,
    HEALTH,
    SYNC,
    MEMBER,
    DEADLINE,
    FILTER_FILE,
    FILTER_GLOBALS,
    RULES,
    COUNTS,
    CARRIED,
    EVENTS,
    BANS,
    LIMITS,
    LINES,
    drop::SHAPES,
    drop::RULES4,
    drop::RULES6,
    route::PORTS,
    route::HOPS,
    route::HOP_COUNTS,
    route::PROCESSORS,
    route::NETWORKS,
];
/// Pin of the map with the identity of the programs.
pub const IDENTITY: &str = "identity";
const PRIVATE_DIR: u32 = 0o700;
const SHARED_MAP: u32 = 0o640;
