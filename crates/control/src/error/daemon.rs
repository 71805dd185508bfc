//! Why a daemon cannot be started.

use super::Holder;

/// Why a daemon cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Another daemon uses the state directory.
    #[error(
        "another daemon uses this state directory, {0}: stop it, or choose another one by --state"
    )]
    Runs(Holder),
}
