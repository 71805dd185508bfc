//! Events that are not errors but that an operator may want to know about.

use std::fmt;
use std::sync::Arc;

/// An event during a call; [`fmt::Display`] prints one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A remark of the loader about an object.
    Loader(String),
    /// The interface is down, so the program that was attached to it sees no packets.
    InterfaceDown(String),
    /// A program was attached without its verdicts being counted, with the reason.
    NotCounted(String),
    /// An interrupted change could not be undone, with the reason. It remains on record.
    NotUndone(String),
    /// An interrupted change was completed, because the kernel refused the program that ran before.
    Completed {
        /// Number of the interface.
        ifindex: u32,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loader(remark) => f.write_str(remark),
            Self::InterfaceDown(name) => {
                write!(f, "{name} is down, so no packet arrives; `ip link set {name} up`")
            }
            Self::NotCounted(reason) => {
                write!(f, "verdicts are not counted for this program: {reason}")
            }
            Self::NotUndone(reason) => {
                write!(f, "an interrupted change was not undone: {reason}")
            }
            Self::Completed { ifindex } => write!(
                f,
                "interface {ifindex}: the interrupted change was completed, because the kernel \
                 refused the previous program"
            ),
        }
    }
}

/// A function that receives notices.
#[derive(Clone)]
pub(crate) struct Observer(Arc<dyn Fn(&Notice) + Send + Sync>);

impl Observer {
    pub(crate) fn new(observe: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn notify(&self, notice: &Notice) {
        (self.0)(notice);
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self::new(|_notice| {})
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
