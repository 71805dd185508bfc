//! Where the repository is, and which of its files a task reads.
//!
//! Rule: paths that tasks print are relative to the repository, with `/`, in sorted order.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The repository: the folder above this package.
pub fn path() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// All files below `folder` whose name ends in `ending`, sorted; none if there is no such folder.
pub fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.is_dir() {
        collect(folder, ending, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                collect(&path, ending, found)?;
            }
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    Ok(())
}

/// Build output and the version control's own files.
const SKIPPED: &[&str] = &["target", ".git", "corpus", "artifacts"];
