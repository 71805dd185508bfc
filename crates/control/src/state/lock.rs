//! `Lock`: admits one writer at a time, and names it.
//!
//! Rule: only the kernel's lock keeps other processes out, and the kernel releases it when its
//! holder ends in any way. The text in the file names the last holder for the error of a process
//! that waited; it is valid only while a process holds the lock.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

use sys::dir::Dir;

use super::root;
use crate::error::{Context as _, Holder, LockError, Result};

/// A lock that is held until the value is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, and waits for another writer that holds it.
    ///
    /// # Errors
    /// Another process still holds the lock when the time is over: the error names it.
    pub fn wait(dir: &Dir, name: &str, patience: Duration) -> Result<Self> {
        let file = root::lock_file(dir, name)?;
        let path = dir.path().join(name);
        let deadline = Instant::now() + patience;
        while let Err(error) = file.try_lock() {
            match error {
                fs::TryLockError::WouldBlock if Instant::now() < deadline => {
                    thread::park_timeout(POLL_INTERVAL);
                }
                fs::TryLockError::WouldBlock => {
                    return Err(LockError::Held { path, patience, holder: holder(&file) }.into());
                }
                fs::TryLockError::Error(error) => {
                    return Err(error).with_context(|| format!("cannot lock {}", path.display()));
                }
            }
        }
        // The name is informative only: on a full disk, the lock is held without it.
        let _ = sign(&file, &own_command());
        Ok(Self { _file: file })
    }
}

/// Takes a lock without waiting; it is held while the file is open. Returns the holder if another
/// process has the lock.
pub fn claim(dir: &Dir, name: &str) -> Result<Result<File, Holder>> {
    let path = dir.path().join(name);
    for _ in 0..ATTEMPTS {
        let file = root::lock_file(dir, name)?;
        match file.try_lock() {
            // The file was removed meanwhile: other processes lock the new one of this name.
            Ok(()) if !is_current(dir, name, &file)? => {}
            Ok(()) => {
                let _ = sign(&file, &own_command());
                return Ok(Ok(file));
            }
            Err(fs::TryLockError::WouldBlock) => return Ok(Err(holder(&file))),
            Err(fs::TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
    }
    Err(LockError::Removed { path }.into())
}

/// Removes the lock files of claims that no process holds.
pub fn remove_unclaimed(dir: &Dir) -> Result<()> {
    remove_free(dir, |name| name.contains(CLAIM))
}

/// Removes lock files that no process holds.
pub fn remove_free(dir: &Dir, is_unwanted: impl Fn(&str) -> bool) -> Result<()> {
    for name in dir.names()? {
        if !is_unwanted(&name.to_string_lossy()) {
            continue;
        }
        let Some(file) = root::existing_lock(dir, &name)? else { continue };
        // Locked during the removal, so that a claim of the same file notices it.
        if file.try_lock().is_ok() {
            dir.remove_file(&name)?;
        }
    }
    Ok(())
}

fn is_current(dir: &Dir, name: &str, file: &File) -> Result<bool> {
    let Some(named) = root::existing_lock(dir, name)? else { return Ok(false) };
    let [named, held] = [named.metadata()?, file.metadata()?];
    Ok((named.dev(), named.ino()) == (held.dev(), held.ino()))
}

fn sign(mut file: &File, command: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{} {command}", std::process::id())
}

/// The command line of this process, in one line.
fn own_command() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let line = words.collect::<Vec<_>>().join(" ");
    line.chars().map(|one| if one.is_control() { ' ' } else { one }).take(SHOWN).collect()
}

fn holder(mut file: &File) -> Holder {
    let mut text = Vec::new();
    // A holder is unknown if its name cannot be read.
    let _ = file.rewind().and_then(|()| file.read_to_end(&mut text));
    Holder::parse(&String::from_utf8_lossy(&text))
}

/// Time between two attempts to take a lock.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Number of times that a claim's file may be removed while it is being locked.
const ATTEMPTS: usize = 16;
/// Part of the names of claims, after the purpose.
const CLAIM: &str = "-net-";
/// Characters of a command line that are kept.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(40);

    /// A directory that is removed at the end of the test.
    struct Folder(Dir);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("xway-lock-{name}-{}", std::process::id());
            Self(root::open(&std::env::temp_dir().join(name)).unwrap())
        }

        fn join(&self, name: &str) -> std::path::PathBuf {
            self.0.path().join(name)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(self.0.path());
        }
    }

    #[test]
    fn the_error_names_the_holder() {
        let folder = Folder::new("held");
        let path = folder.join("lock");
        fs::write(&path, "1 a previous command that is longer than the next one\n").unwrap();
        let first = Lock::wait(&folder.0, "lock", SHORT).unwrap();
        let error = Lock::wait(&folder.0, "lock", SHORT).unwrap_err().to_string();
        let name = format!("process {} (`{}`)", std::process::id(), own_command());
        assert!(error.contains(&name) && error.contains("0.04 s"), "{error}");
        assert!(error.contains(path.to_str().unwrap()) && !error.contains("previous"), "{error}");
        drop(first);
        Lock::wait(&folder.0, "lock", Duration::ZERO).expect("free immediately");
    }

    #[test]
    fn a_holder_that_did_not_sign_is_not_named() {
        let folder = Folder::new("unsigned");
        let path = folder.join("lock");
        // No process has a number that high.
        for text in ["", "xway", "4294967295 xway filter load\n", "\u{fffd}\u{0}"] {
            fs::write(&path, text).unwrap();
            let file = root::lock_file(&folder.0, "lock").unwrap();
            file.try_lock().unwrap();
            let error = Lock::wait(&folder.0, "lock", Duration::ZERO).unwrap_err().to_string();
            assert!(error.contains("another xway") && !error.contains("process"), "{error}");
            let holder = claim(&folder.0, "lock").unwrap().unwrap_err().to_string();
            assert_eq!(holder, "another xway", "{text}");
        }
    }

    #[test]
    fn a_claim_is_taken_once_and_names_its_holder() {
        let folder = Folder::new("claim");
        let first = claim(&folder.0, "trial").unwrap().unwrap();
        let name = format!("process {} (`{}`)", std::process::id(), own_command());
        assert_eq!(claim(&folder.0, "trial").unwrap().unwrap_err().to_string(), name);
        let also = first.try_clone().unwrap();
        drop(first);
        assert!(
            claim(&folder.0, "trial").unwrap().is_err(),
            "held while any descriptor of the file is open"
        );
        drop(also);
        claim(&folder.0, "trial").unwrap().unwrap();
    }

    #[test]
    fn a_lock_that_is_released_in_time_is_taken() {
        let folder = Folder::new("freed");
        let first = Lock::wait(&folder.0, "lock", SHORT).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| Lock::wait(&folder.0, "lock", Duration::from_secs(20)));
            drop(first);
            second.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_directory_of_this_name_is_an_error() {
        let folder = Folder::new("folder");
        fs::create_dir(folder.join("lock")).unwrap();
        let error = Lock::wait(&folder.0, "lock", SHORT).unwrap_err().to_string();
        assert!(error.contains("openat"), "{error}");
    }
}
