//! `LockError`: a lock could not be taken.

use std::path::PathBuf;
use std::time::Duration;

use super::Holder;

/// Why a lock of the state directory could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process held the lock during the whole time that was allowed for waiting.
    #[error("{}", held(path, *patience, holder))]
    Held { path: PathBuf, patience: Duration, holder: Holder },
    /// The lock file was removed each time that it was created.
    #[error(
        "cannot lock {}: another process removes it each time that it is created",
        path.display()
    )]
    Removed { path: PathBuf },
}

fn held(path: &std::path::Path, patience: Duration, holder: &Holder) -> String {
    let (path, seconds) = (path.display(), patience.as_secs_f64());
    let change = format!("another xway has been changing something for more than {seconds} s");
    if holder.is_known() {
        format!("{change}: {holder} holds {path}; wait for it to end, or end it")
    } else {
        format!("{change} and holds {path}: wait for it to end")
    }
}
