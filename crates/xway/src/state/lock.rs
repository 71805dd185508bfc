//! `Lock`: one writer at a time, and who that is.
//!
//! Rule: the kernel's lock alone keeps others out, and it goes when its holder ends, however that
//! happens. The words in the file are for whoever waits in vain; they are of the last holder, so
//! they count only while somebody holds the lock.

use std::fmt;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

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
    /// It is still held when the patience is at its end: says by whom.
    pub fn wait(path: &Path, patience: Duration) -> Result<Self> {
        let file = open(path)?;
        let deadline = Instant::now() + patience;
        while let Err(error) = file.try_lock() {
            match error {
                fs::TryLockError::WouldBlock if Instant::now() < deadline => {
                    thread::park_timeout(LOOK);
                }
                fs::TryLockError::WouldBlock => {
                    bail!(held(path, patience));
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
pub fn claim(path: &Path) -> Result<Result<File, Holder>> {
    let file = open(path)?;
    match file.try_lock() {
        Ok(()) => {
            let _ = sign(&file, &own_command());
            Ok(Ok(file))
        }
        Err(fs::TryLockError::WouldBlock) => Ok(Err(Holder::of(path))),
        Err(fs::TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

pub fn open(path: &Path) -> Result<File> {
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))
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

fn held(path: &Path, patience: Duration) -> String {
    let (holder, path, seconds) = (Holder::of(path), path.display(), patience.as_secs_f64());
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
    fn of(path: &Path) -> Self {
        let text = fs::read(path).unwrap_or_default();
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
/// Letters of a command.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(40);

    /// Goes with the test.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("xway-lock-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn who_holds_it_is_told() {
        let folder = Folder::new("held");
        let path = folder.0.join("lock");
        fs::write(&path, "1 somebody before, and much longer than what comes next\n").unwrap();
        let first = Lock::wait(&path, SHORT).unwrap();
        let told = Lock::wait(&path, SHORT).unwrap_err().to_string();
        let name = format!("process {} (`{}`)", std::process::id(), own_command());
        assert!(told.contains(&name) && told.contains("0.04 s"), "{told}");
        assert!(told.contains(path.to_str().unwrap()) && !told.contains("somebody"), "{told}");
        drop(first);
        Lock::wait(&path, Duration::ZERO).expect("free at once");
    }

    #[test]
    fn a_holder_that_did_not_sign_is_not_named() {
        let folder = Folder::new("unsigned");
        let path = folder.0.join("lock");
        // No process has a number that high.
        for text in ["", "xway", "4294967295 xway filter load\n", "\u{fffd}\u{0}"] {
            fs::write(&path, text).unwrap();
            let file = open(&path).unwrap();
            file.try_lock().unwrap();
            let told = Lock::wait(&path, Duration::ZERO).unwrap_err().to_string();
            assert!(told.contains("another xway") && !told.contains("process"), "{told}");
            assert_eq!(claim(&path).unwrap().unwrap_err().to_string(), "another xway", "{text}");
        }
    }

    #[test]
    fn a_claim_is_taken_once_and_says_whose_it_is() {
        let folder = Folder::new("claim");
        let path = folder.0.join("trial");
        let first = claim(&path).unwrap().unwrap();
        let name = format!("process {} (`{}`)", std::process::id(), own_command());
        assert_eq!(claim(&path).unwrap().unwrap_err().to_string(), name);
        let also = first.try_clone().unwrap();
        drop(first);
        assert!(claim(&path).unwrap().is_err(), "held for as long as anybody has the file open");
        drop(also);
        claim(&path).unwrap().unwrap();
    }

    #[test]
    fn one_that_is_freed_in_time_is_taken() {
        let folder = Folder::new("freed");
        let path = folder.0.join("lock");
        let first = Lock::wait(&path, SHORT).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| Lock::wait(&path, Duration::from_secs(20)));
            drop(first);
            second.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_folder_in_its_place_is_an_error() {
        let folder = Folder::new("folder");
        let told = Lock::wait(&folder.0, SHORT).unwrap_err().to_string();
        assert!(told.contains("cannot open"), "{told}");
    }
}
