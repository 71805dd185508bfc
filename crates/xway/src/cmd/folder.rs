//! `Folder`: where a command puts the files of its report.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Where the files go. Made by root for somebody else, they belong to that somebody.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    owner: Option<(u32, u32)>,
}

impl Folder {
    pub fn make(path: &Path) -> Result<Self> {
        fs::create_dir_all(path)
            .with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(Self::at(path))
    }

    /// One that is there.
    pub fn at(path: &Path) -> Self {
        let number = |name| std::env::var(name).ok()?.parse().ok();
        let owner = number("SUDO_UID").zip(number("SUDO_GID"));
        let this = Self { path: path.to_owned(), owner };
        this.hand_over(path);
        this
    }

    /// A file of this name is replaced whole: whoever reads it meets the old text or the new one,
    /// also after a crash in the middle.
    pub fn put(&self, name: &str, text: &str) -> Result<PathBuf> {
        let (path, part) = (self.path.join(name), self.path.join(format!(".{name}.part")));
        let put = || {
            fs::write(&part, text)?;
            self.hand_over(&part);
            fs::rename(&part, &path)
        };
        put().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file that somebody else writes goes.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn hand_over(&self, path: &Path) {
        if let Some((user, group)) = self.owner {
            // Still root's then, and readable all the same.
            let _ = chown(path, Some(user), Some(group));
        }
    }
}
