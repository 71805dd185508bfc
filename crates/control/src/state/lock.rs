//! `Lock`: one writer at a time, and who that is.
//!
//! Rule: the kernel's lock alone keeps others out, and it goes when its holder ends, however that
//! happens. The words in the file are for whoever waits in vain; they are of the last holder, so
//! they count only while a process holds the lock.

use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use sys::dir::Dir;

use super::root;
use crate::error::{Context as _, Error, Result};

/// Held for as long as it lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Who holds one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process and command; `None` when the file does not say, or a process that is gone signed it.
    signed: Option<(u32, String)>,
}

impl Lock {
    /// Waits for the writer that holds it.
    ///
    /// # Errors
    /// The lock is still held at the end of the time to wait: the error names the holder.
    pub fn wait(dir: &Dir, name: &str, patience: Duration) -> Result<Self> {
        let file = root::lock_file(dir, name)?;
        let path = dir.path().join(name);
        let deadline = Instant::now() + patience;
        while let Err(error) = file.try_lock() {
            match error {
                fs::TryLockError::WouldBlock if Instant::now() < deadline => {
                    thread::park_timeout(LOOK);
                }
                fs::TryLockError::WouldBlock => {
                    return Err(Error::Locked(held(&file, &path, patience)));
                }
                fs::TryLockError::Error(error) => {
                    return Err(error).with_context(|| format!("cannot lock {}", path.display()));
                }
            }
        }
        // Without a name in the file, which a full disk may refuse, the lock is as good.
        let _ = sign(&file, &own_command());
        Ok(Self { _file: file })
    }
}

/// Takes it at once, for as long as the file is open; or answers whose it is.
pub fn claim(dir: &Dir, name: &str) -> Result<Result<File, Holder>> {
    let path = dir.path().join(name);
    for _ in 0..ATTEMPTS {
        let file = root::lock_file(dir, name)?;
        match file.try_lock() {
            // The file was removed meanwhile: others lock the one that took its name.
            Ok(()) if !is_current(dir, name, &file)? => {}
            Ok(()) => {
                let _ = sign(&file, &own_command());
                return Ok(Ok(file));
            }
            Err(fs::TryLockError::WouldBlock) => return Ok(Err(Holder::of(&file))),
            Err(fs::TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
    }
    Err(Error::Locked(format!(
        "cannot lock {}: it is removed as often as it is made",
        path.display()
    )))
}

/// Removes files of claims that no process holds.
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
        // Held while the name goes, so that a claim of the same file sees that it did.
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

/// As it was called, in one line.
fn own_command() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let line = words.collect::<Vec<_>>().join(" ");
    line.chars().map(|one| if one.is_control() { ' ' } else { one }).take(SHOWN).collect()
}

fn held(file: &File, path: &Path, patience: Duration) -> String {
    let (holder, path, seconds) = (Holder::of(file), path.display(), patience.as_secs_f64());
    match holder.signed {
        Some(_) => format!(
            "another xway changes something for more than {seconds} s: {holder} holds {path}; \
             wait for it to end, or end it"
        ),
        None => format!(
            "another xway changes something for more than {seconds} s and holds {path}: \
             wait for it to end"
        ),
    }
}

impl Holder {
    fn of(mut file: &File) -> Self {
        let mut text = Vec::new();
        // A holder whose name cannot be read is not named.
        let _ = file.rewind().and_then(|()| file.read_to_end(&mut text));
        Self { signed: signed(&String::from_utf8_lossy(&text)) }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.signed {
            Some((pid, command)) => write!(f, "process {pid} (`{command}`)"),
            None => f.write_str("another xway"),
        }
    }
}

fn signed(text: &str) -> Option<(u32, String)> {
    let (pid, command) = text.lines().next()?.split_once(' ')?;
    let pid = pid.parse().ok()?;
    Path::new("/proc").join(format!("{pid}")).exists().then(|| (pid, command.to_owned()))
}

/// How often to look whether it is free.
const LOOK: Duration = Duration::from_millis(20);
/// Times that a claim's file may be removed while it is locked.
const ATTEMPTS: usize = 16;
/// Part of the names of claims, after what is claimed.
const CLAIM: &str = "-net-";
/// Letters of a command.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(40);

    /// Goes with the test.
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
    fn who_holds_it_is_told() {
        let folder = Folder::new("held");
        let path = folder.join("lock");
        fs::write(&path, "1 somebody before, and much longer than what comes next\n").unwrap();
        let first = Lock::wait(&folder.0, "lock", SHORT).unwrap();
        let told = Lock::wait(&folder.0, "lock", SHORT).unwrap_err().to_string();
        let name = format!("process {} (`{}`)", std::process::id(), own_command());
        assert!(told.contains(&name) && told.contains("0.04 s"), "{told}");
        assert!(told.contains(path.to_str().unwrap()) && !told.contains("somebody"), "{told}");
        drop(first);
        Lock::wait(&folder.0, "lock", Duration::ZERO).expect("free at once");
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
            let told = Lock::wait(&folder.0, "lock", Duration::ZERO).unwrap_err().to_string();
            assert!(told.contains("another xway") && !told.contains("process"), "{told}");
            let holder = claim(&folder.0, "lock").unwrap().unwrap_err().to_string();
            assert_eq!(holder, "another xway", "{text}");
        }
    }

    #[test]
    fn a_claim_is_taken_once_and_says_whose_it_is() {
        let folder = Folder::new("claim");
        let first = claim(&folder.0, "trial").unwrap().unwrap();
        let name = format!("process {} (`{}`)", std::process::id(), own_command());
        assert_eq!(claim(&folder.0, "trial").unwrap().unwrap_err().to_string(), name);
        let also = first.try_clone().unwrap();
        drop(first);
        assert!(
            claim(&folder.0, "trial").unwrap().is_err(),
            "held for as long as anybody has the file open"
        );
        drop(also);
        claim(&folder.0, "trial").unwrap().unwrap();
    }

    #[test]
    fn one_that_is_freed_in_time_is_taken() {
        let folder = Folder::new("freed");
        let first = Lock::wait(&folder.0, "lock", SHORT).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| Lock::wait(&folder.0, "lock", Duration::from_secs(20)));
            drop(first);
            second.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_folder_in_its_place_is_an_error() {
        let folder = Folder::new("folder");
        fs::create_dir(folder.join("lock")).unwrap();
        let told = Lock::wait(&folder.0, "lock", SHORT).unwrap_err().to_string();
        assert!(told.contains("openat"), "{told}");
    }
}
