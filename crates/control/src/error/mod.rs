//! `Error`: why a call failed, by cause. Causes that belong to one part of the crate have an enum
//! of their own, which `Error` wraps.

mod bytes;
mod chain;
mod confirmation;
mod daemon;
mod dispatcher;
mod function;
mod holder;
mod lock;
mod malformed;
mod map;
mod memory;
mod object;

use std::net::IpAddr;
use std::path::PathBuf;
use std::{fmt, io};

use sys::cap::Cap;

pub use bytes::BytesError;
pub use chain::ChainError;
pub use confirmation::ConfirmationError;
pub use daemon::DaemonError;
pub use dispatcher::{DispatcherError, MissingMember};
pub use function::FunctionError;
pub use holder::Holder;
pub use lock::LockError;
pub use malformed::Malformed;
pub use map::MapError;
pub use memory::MemoryError;
pub use object::ObjectError;

/// A result with the [`Error`] of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Unless a variant states otherwise, nothing has changed.
///
/// [`fmt::Display`] prints the outermost sentence; causes follow by [`std::error::Error::source`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel refused a program, a map or a link.
    #[error("{0}")]
    Kernel(#[from] kernel::Error),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] sys::Error),
    /// A file of the state directory, or of the caller, cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// An object file is malformed, or has no such map or global variable.
    #[error("{0}")]
    Spec(#[from] spec::Error),
    /// Assembly source has a mistake.
    #[error("{file}: {mistake}")]
    Assembly { file: String, mistake: Box<spec::asm::source::Error> },
    /// An object cannot be written as assembly source.
    #[error("{0}")]
    Unprintable(#[from] spec::disasm::Unprintable),
    /// The request does not determine an object or a program.
    #[error("{0}")]
    Object(#[from] ObjectError),
    /// A program cannot be made to ask its device for VLAN tags.
    #[error("{0}")]
    Tags(#[from] functions::tags::Error),
    /// A program cannot be composed with its counters, or with another one.
    #[error("{0}")]
    Compose(#[from] spec::compose::Error),
    /// A file of rules has errors.
    #[error("{0}")]
    RuleFile(#[from] filter::language::file::Errors),
    /// A rule, or a part of one, is malformed.
    #[error("{0}")]
    Rule(#[from] filter::language::text::Error),
    /// Rules cannot be compiled.
    #[error("{0}")]
    Compile(#[from] filter::Error),
    /// The rules of `drop` cannot be read or changed.
    #[error("{0}")]
    Drop(#[from] functions::drop::Error<kernel::Error>),
    /// The services of a balancer cannot be changed.
    #[error("{0}")]
    Balancer(#[from] functions::balancer::Error<kernel::Error>),
    /// The maps of `forward` cannot be changed.
    #[error("{0}")]
    Forward(#[from] functions::route::Error<kernel::Error>),
    /// The network namespace has no interface of this name.
    #[error("there is no interface `{name}` here; there are {}", known.join(", "))]
    NoInterface {
        name: String,
        /// Names of the interfaces that exist.
        known: Vec<String>,
    },
    /// No filter runs on the interface.
    #[error("{}", no_filter(interface))]
    NoFilter { interface: String },
    /// The interface was moved here from another namespace, with its filter.
    #[error(
        "{interface} runs a filter that was attached in another network namespace: move it back \
         to see or change the filter, or detach it with `xway detach --force {interface}`"
    )]
    MovedFilter { interface: String },
    /// The filter has no rule of this name.
    #[error("there is no rule `{name}`{}", did_you_mean(similar.as_deref()))]
    NoRule {
        name: String,
        /// The name of an existing rule that was probably meant.
        similar: Option<String>,
    },
    /// A chain cannot be changed.
    #[error("{0}")]
    Chain(#[from] ChainError),
    /// A map does not accept a change.
    #[error("{0}")]
    Map(#[from] MapError),
    /// The kernel hides the code of a program from this process.
    #[error("the kernel hides the code of {program}: run as root")]
    HiddenCode { program: String },
    /// A program has no machine code.
    #[error(
        "{program} has no machine code: the JIT is off (net.core.bpf_jit_enable) or hides it \
         (net.core.bpf_jit_harden)"
    )]
    NoMachineCode { program: String },
    /// The source is not banned.
    #[error("{source_address} is not banned")]
    NotBanned { source_address: IpAddr },
    /// No rule of the filter has the action `sample`.
    #[error(
        "no rule on {interface} samples: `xway filter add {interface} 'sample 1/100 udp'` adds one"
    )]
    NoSampleRule { interface: String },
    /// A tcpdump expression that cannot be compiled.
    #[error("`{text}` is not an expression of tcpdump: {reason}")]
    Expression { text: String, reason: String },
    /// No program has such a reason or rule.
    #[error("no program has a reason or a rule `{text}`{}", reasons(known))]
    NoReason { text: String, known: Vec<String> },
    /// A capture names an interface more than once.
    #[error("interface `{interface}` is named twice: name each interface once")]
    InterfaceTwice { interface: String },
    /// A file of packets cannot be written.
    #[error("cannot write {}", path.display())]
    Capture { path: PathBuf, source: Box<pcap::Error> },
    /// The reader of a pipe, to which packets are written, closed it.
    #[error("the reader of {} closed it", path.display())]
    ReaderGone { path: PathBuf },
    /// No process opened a named pipe for reading in time.
    #[error("no process reads the pipe {}: start the reader first", path.display())]
    NoReader { path: PathBuf },
    /// Standard output cannot be several files.
    #[error("standard output cannot be rotated: write to a file")]
    RotatedStream,
    /// Several interfaces run a filter, of which one must be chosen.
    #[error("{} run filters: select one with --dev", interfaces.join(", "))]
    SeveralFilters { interfaces: Vec<String> },
    /// No interface of this namespace runs a filter.
    #[error("no interface runs a filter: specify rules with --rules FILE")]
    NoFilters,
    /// The filter was replaced during each attempt to read it.
    #[error("the filter of {interface} changes faster than it can be read: try again")]
    Unstable { interface: String },
    /// Another process runs a trial, or samples packets, on the interface.
    #[error(
        "another trial or sampler runs on this interface, by {0}: wait for its \
         end, or interrupt it"
    )]
    TrialRuns(Holder),
    /// A lock of the state directory could not be taken.
    #[error("{0}")]
    Lock(#[from] LockError),
    /// Another owner's program runs on the interface.
    #[error(
        "{interface} runs program {id}{name} in {mode} mode, which xway did not attach; --force \
         detaches it"
    )]
    ForeignProgram {
        interface: String,
        id: u32,
        /// ` `name`` with a leading space, or empty where it may not be read.
        name: String,
        mode: &'static str,
    },
    /// libxdp's dispatcher runs on the interface: its programs would end with it.
    #[error(
        "{interface} runs libxdp's dispatcher (program {id}) with {}, which other tools manage: \
         `xway chain {interface} adopt OBJECT…` moves its programs to a chain of xway, and \
         `xdp-loader unload {interface} --all` ends them",
        match members.is_empty() {
            true => "no programs that can be read".to_owned(),
            false => members.join(", "),
        }
    )]
    Dispatcher {
        interface: String,
        id: u32,
        /// Names of its programs.
        members: Vec<String>,
    },
    /// The members of libxdp's dispatcher cannot be moved to a chain.
    #[error("{0}")]
    Adoption(#[from] DispatcherError),
    /// A change cannot be confirmed, or cannot wait for a confirmation.
    #[error("{0}")]
    Confirmation(#[from] ConfirmationError),
    /// A daemon cannot be started.
    #[error("{0}")]
    Daemon(#[from] DaemonError),
    /// The change would end the SSH session of this process.
    #[error(
        "not changed, because the SSH session from {client} uses {interface}: {}; use --force, or \
         --confirm 60s to undo the change unless `xway confirm` follows",
        reasons.join("; ")
    )]
    Lockout {
        interface: String,
        client: IpAddr,
        /// Why, a sentence each.
        reasons: Vec<String>,
    },
    /// The request contradicts the configuration of a built-in function.
    #[error("{0}")]
    Function(#[from] FunctionError),
    /// VLAN tags cannot be seen on the interface, and the program depends on them.
    #[error(
        "VLAN tags of packets that {interface} receives cannot be seen: {reason}; frames of every \
         VLAN would be taken for untagged ones. Use --mode native on Linux 6.8 or later, or \
         --ignore-stripped-tags where no tagged frames arrive"
    )]
    HiddenTags { interface: String, reason: String },
    /// The maps of the rules take more memory than allowed or free.
    #[error("{0}")]
    Memory(#[from] MemoryError),
    /// This process lacks capabilities to change the state directory.
    #[error(
        "{}; this process lacks {}: run it as root, or grant them and let root prepare a directory \
         (`xway --state DIR state init --owner USER`)",
        full(cause.as_ref()),
        names(missing)
    )]
    MissingCapabilities { missing: Vec<Cap>, cause: Box<Error> },
    /// This process may not read the state directory.
    #[error(
        "not permitted to see what runs: {}; run it as root (CAP_DAC_READ_SEARCH), as the owner of \
         the state directory, or as a member of the group that may read it (`xway state init \
         --group`)",
        full(cause.as_ref())
    )]
    UnreadableState { cause: Box<Error> },
    /// A text input has more bytes than are read.
    #[error(
        "it has more than {limit} bytes, the limit for text input: split it into several files or \
         leave out what is not needed"
    )]
    LongText {
        /// Bytes.
        limit: u64,
    },
    /// The path of a file to write ends with a directory.
    #[error("{} is not a file name", path.display())]
    NotAFileName { path: PathBuf },
    /// A file exists with other contents than those to be written.
    #[error("{} exists with other contents: use --force to replace it", path.display())]
    FileExists { path: PathBuf },
    /// Stored data, or a kernel setting, cannot be understood.
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// An operation, and the cause of its failure.
    #[error("{what}")]
    While {
        what: String,
        #[source]
        cause: Box<Error>,
    },
}

impl Error {
    /// The cause, without the operations that it interrupted.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::While { cause, .. } => cause.innermost(),
            other => other,
        }
    }

    /// The error number of the system call that failed, if that is the cause.
    pub fn errno(&self) -> Option<i32> {
        match self.innermost() {
            Self::System(call) => Some(call.errno),
            Self::Io(error) => error.raw_os_error(),
            Self::Kernel(error) => error.errno(),
            _ => None,
        }
    }

    /// The kernel's error, if that is the cause.
    pub fn kernel(&self) -> Option<&kernel::Error> {
        match self.innermost() {
            Self::Kernel(error) => Some(error),
            _ => None,
        }
    }
}

/// Adds the operation that failed to an error.
pub(crate) trait Context<T> {
    fn context(self, what: &str) -> Result<T>;

    fn with_context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: &str) -> Result<T> {
        self.with_context(|| what)
    }

    fn with_context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T> {
        self.map_err(|error| Error::While {
            what: what().to_string(),
            cause: Box::new(error.into()),
        })
    }
}

/// The message for an interface without a filter.
pub fn no_filter(interface: &str) -> String {
    format!("no filter runs on {interface}: `xway filter load {interface} FILE` loads one")
}

fn did_you_mean(similar: Option<&str>) -> String {
    similar.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

fn reasons(known: &[String]) -> String {
    match known.is_empty() {
        true => ": no program here keeps reasons".to_owned(),
        false => format!("; there are the reasons {}", known.join(", ")),
    }
}

fn names(capabilities: &[Cap]) -> String {
    capabilities.iter().map(|cap| cap.name()).collect::<Vec<_>>().join(", ")
}

/// The error and its causes on one line, without causes that the text already contains.
pub(crate) fn full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(&format!(": {words}"));
        }
        next = cause.source();
    }
    text
}
