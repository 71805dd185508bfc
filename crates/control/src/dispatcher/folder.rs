//! `Folder`: the directory in which libxdp pins the programs of one dispatcher.
//!
//! ```text
//! <bpffs>/xdp/                              locked (flock) while anything below changes
//! <bpffs>/xdp/dispatch-<ifindex>-<id>/      one dispatcher
//!             prog0-prog, prog0-link, …     its programs, and the links that run them
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use sys::net::Ifindex;

use crate::error::{Context as _, DispatcherError, Result};

/// The pins of a dispatcher.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Finds the directory of a dispatcher in the bpf file systems that this process sees.
    pub fn find(ifindex: Ifindex, program: u32) -> Option<Self> {
        let name = format!("dispatch-{}-{program}", ifindex.0);
        let paths = sys::mount::bpffs_mounts().into_iter().map(|root| root.join(ROOT).join(&name));
        paths.into_iter().find(|path| path.is_dir()).map(|path| Self { path })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps other users of libxdp from changing pins as long as the file is open.
    ///
    /// # Errors
    /// Another process holds the lock for too long.
    pub fn lock(&self) -> Result<File> {
        let root = self.path.parent().unwrap_or(&self.path);
        let shown = || format!("cannot lock {}", root.display());
        let file = File::open(root).with_context(shown)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::park_timeout(POLL_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    let path = root.to_owned();
                    return Err(DispatcherError::Locked { path, patience: PATIENCE }.into());
                }
                Err(TryLockError::Error(error)) => return Err(error).with_context(shown),
            }
        }
    }

    /// Removes the pins and the directory, as libxdp does with a dispatcher that was replaced.
    ///
    /// # Errors
    /// A file cannot be removed, or the directory has other files.
    pub fn remove(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.file_name().and_then(|name| name.to_str()).is_some_and(is_pin) {
                fs::remove_file(path)?;
            }
        }
        fs::remove_dir(&self.path)
    }
}

/// Whether libxdp gives this name to a pin: `prog3-link`.
fn is_pin(name: &str) -> bool {
    let number = name.strip_prefix("prog").and_then(|rest| rest.split_once('-'));
    number.is_some_and(|(number, kind)| {
        number.parse::<u8>().is_ok() && ["prog", "link"].contains(&kind)
    })
}

const ROOT: &str = "xdp";
/// Time for which the lock is awaited: libxdp holds it while it pins or reads pins.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_libxdp_are_pins() {
        for name in ["prog0-prog", "prog0-link", "prog9-link"] {
            assert!(is_pin(name), "{name}");
        }
        for name in ["prog0", "prog-link", "prog0-map", "progx-link", "other", "prog300-prog"] {
            assert!(!is_pin(name), "{name}");
        }
    }
}
