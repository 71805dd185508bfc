//! Why a feature is not available.

use sys::errno::{EACCES, EPERM};

use thiserror::Error;

use crate::error::Error as LoadError;

/// Why a feature is not available. Displays as the kernel's own words where it gave any, without
/// the advice for authors of programs.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unavailable {
    /// The verifier rejected the program of the probe.
    #[error("{line}")]
    Verifier {
        /// The decisive line of the verifier's log.
        line: String,
    },
    /// A system call failed.
    #[error(transparent)]
    System(#[from] sys::Error),
    #[error("programs are interpreted: net.core.bpf_jit_enable is 0")]
    JitDisabled,
    #[error("no /sys/kernel/btf/vmlinux: CONFIG_DEBUG_INFO_BTF is off")]
    NoKernelTypes,
    #[error("the kernel publishes no types of its functions")]
    NoFunctionTypes,
    /// The program was loaded without its types.
    #[error("{warning}")]
    WithoutTypes { warning: String },
    /// The object model rejected the program of the probe.
    #[error(transparent)]
    Object(#[from] spec::asm::Error),
    #[error("the program of the probe has no types")]
    NoProgramTypes,
    /// The kernel accepted the call, but does not provide the feature.
    #[error("{call}: {reason}")]
    Ignored { call: &'static str, reason: &'static str },
    /// Any other failure of loading or attaching.
    #[error("{message}")]
    Failed { message: String },
}

impl Unavailable {
    /// Whether the kernel refused because of missing rights, so that nothing is known about the
    /// feature.
    pub fn is_denied(&self) -> bool {
        match self {
            Self::System(error) => error.is(EPERM) || error.is(EACCES),
            Self::Failed { message } => message.contains("(EPERM)"),
            _ => false,
        }
    }
}

impl From<LoadError> for Unavailable {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Verifier { log, .. } => Self::Verifier { line: log.decisive },
            LoadError::System(source) | LoadError::Denied { source, .. } => Self::System(source),
            other => Self::Failed { message: other.to_string() },
        }
    }
}
