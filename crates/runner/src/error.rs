//! `Error`: why a run failed, by cause.

use std::path::Path;
use std::{fmt, io};

use pcap::LinkType;
use vm::Errno;

/// A result with the [`Error`] of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a run failed. What a program does wrong is not an error but part of the result.
///
/// [`fmt::Display`] prints the outermost sentence; causes follow by [`std::error::Error::source`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The object cannot be read, or a file cannot be written.
    #[error("{0}")]
    Control(#[source] Box<control::Error>),
    /// The kernel refused the program, a map or a test run.
    #[error("{0}")]
    Kernel(#[from] kernel::Error),
    /// The engine refused the object or a packet.
    #[error("{0}")]
    Engine(#[from] vm::Error),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] sys::Error),
    /// A file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A capture cannot be read or written.
    #[error("{0}")]
    Capture(#[from] pcap::Error),
    /// The request does not determine a program.
    #[error("{0}")]
    Object(#[from] control::error::ObjectError),
    /// A global variable cannot be set, or types are malformed.
    #[error("{0}")]
    Spec(#[from] spec::Error),
    /// The object has no program of the name.
    #[error("{0}")]
    Program(#[from] spec::UnknownProgram),
    /// Measured times give no statistics.
    #[error("{0}")]
    Samples(#[from] report::Error),
    /// A key or value of a map is malformed.
    #[error("{0}")]
    Bytes(#[from] control::inventory::BytesError),
    /// A map refused its contents, or rules contradict each other.
    #[error("{0}")]
    Contents(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The program is of another type.
    #[error("`{program}` is not an XDP program but {section}")]
    NotXdp {
        /// Name of the program.
        program: String,
        /// Name of its section.
        section: String,
    },
    /// The path of a program in the kernel is requested.
    #[error("the kernel does not report the path of a program: use --runtime vm")]
    Unobservable,
    /// A rule is malformed.
    #[error("{0}")]
    Rule(#[from] packet::ParseError),
    /// Rules are given to a program that takes none.
    #[error("--{option} is for the built-in program `{program}`; fill maps with --map")]
    NotBuiltIn {
        /// Name of the option.
        option: &'static str,
        /// Name of the program that takes such rules.
        program: &'static str,
    },
    /// The object has no map of this name.
    #[error("there is no map `{name}`; the object has {}", known.join(", "))]
    UnknownMap {
        /// The name.
        name: String,
        /// Names of the maps that exist.
        known: Vec<String>,
    },
    /// The engine has no map of this name.
    #[error("there is no map `{name}`")]
    NoMap {
        /// The name.
        name: String,
    },
    /// The engine did not create the map.
    #[error("map `{name}` was not created: {cause}")]
    AbsentMap {
        /// Name of the map.
        name: String,
        /// Why it was not created.
        cause: String,
    },
    /// A line of map contents has a key only.
    #[error("`{line}`: write a key, a space and a value")]
    NoValue {
        /// The line.
        line: String,
    },
    /// A packet of the capture is not an Ethernet frame, and does not become one.
    #[error(
        "{capture}: packet {packet} is {link_type}: XDP programs see Ethernet frames only; {remedy}"
    )]
    NotEthernet {
        /// Path of the capture.
        capture: String,
        /// Number of the packet.
        packet: u64,
        /// Type of the packet.
        link_type: LinkType,
        /// How to get Ethernet frames.
        remedy: &'static str,
    },
    /// The buffers of perf events cannot be opened.
    #[error("perf events: {0}")]
    PerfEvents(Errno),
    /// A request to end the run came while a map was read.
    #[error("interrupted while map `{map}` was read")]
    Interrupted {
        /// Name of the map.
        map: String,
    },
    /// A request to end the run came before the packet that is to be explained.
    #[error("stopped after packet {packet}, before {wanted}")]
    Stopped {
        /// Number of the last packet that was run.
        packet: u64,
        /// Number of the requested packet.
        wanted: u64,
    },
    /// The capture ends before the packet that is to be explained.
    #[error("the capture has {packets} packets, not {wanted}")]
    NoPacket {
        /// Number of packets.
        packets: u64,
        /// Number of the requested packet.
        wanted: u64,
    },
    /// The capture is a pipe, which cannot be read again.
    #[error("{capture} is not a file: going backward requires reading it again")]
    NotRepeatable {
        /// Path of the capture.
        capture: String,
    },
    /// The packet is in the capture, but no driver would pass it to the program.
    #[error(
        "the program does not receive packet {packet}: it is not a complete Ethernet frame, or too \
         long for one buffer"
    )]
    NotReceived {
        /// Number of the packet.
        packet: u64,
    },
    /// The packet's program executes fewer instructions.
    #[error("the program executes fewer than {step} instructions for packet {packet}")]
    NoPosition {
        /// Number of the packet.
        packet: u64,
        /// Number of instructions.
        step: u64,
    },
    /// The stack has fewer frames.
    #[error("there is no frame {number}: {frames} functions are active")]
    NoFrame {
        /// Number of the requested frame, from 0.
        number: usize,
        /// Number of frames.
        frames: usize,
    },
    /// No expression with this number is shown at each stop.
    #[error("no display has number {number}")]
    NoDisplay {
        /// The number.
        number: u32,
    },
    /// The chosen frame has no caller.
    #[error("the chosen frame is the outermost one")]
    OutermostFrame,
    /// The chosen frame has called nothing.
    #[error("the chosen frame is the innermost one")]
    InnermostFrame,
    /// A request came while the capture was run again; the position is unchanged.
    #[error("interrupted at packet {packet}; the position is unchanged")]
    MotionInterrupted {
        /// Number of the packet that ran.
        packet: u64,
    },
    /// The object has no such place.
    #[error("{0}")]
    Place(#[from] NoPlace),
    /// An expression has no value at a position.
    #[error("{0}")]
    Unavailable(#[from] Unavailable),
    /// No breakpoint or watchpoint has this number.
    #[error("there is no breakpoint or watchpoint {number}")]
    NoStopPoint {
        /// The number.
        number: u32,
    },
    /// A map has no entries that can be read by key.
    #[error("map `{map}` cannot be listed: {errno}")]
    Unlisted {
        /// Name of the map.
        map: String,
        /// Why it cannot be listed.
        errno: Errno,
    },
    /// There are too many breakpoints and watchpoints.
    #[error("there are {most} breakpoints and watchpoints already: delete one")]
    TooManyStopPoints {
        /// The largest number of them.
        most: usize,
    },
    /// An operation, and the cause of its failure.
    #[error("{what}")]
    While {
        /// The operation, or the object that it failed on.
        what: String,
        /// The cause.
        #[source]
        cause: Box<Error>,
    },
}

/// Why the object has no such place.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoPlace {
    /// No program was compiled with line information.
    #[error("the object has no line information: stop at a function, *SLOT, map or verdict")]
    NoLines,
    /// No file has this name.
    #[error("there is no source file `{file}`; the object has {}", known.join(", "))]
    File {
        /// The name.
        file: String,
        /// Files that the object has.
        known: Vec<String>,
    },
    /// The file ends before the line.
    #[error("{file} has no code at or after line {line}")]
    Line {
        /// Path of the file.
        file: String,
        /// Number of the line.
        line: u32,
    },
    /// No function has this name.
    #[error("there is no function `{name}`; the programs have {}", known.join(", "))]
    Function {
        /// The name.
        name: String,
        /// Functions of the programs.
        known: Vec<String>,
    },
    /// No program has this name.
    #[error("program `{name}` is not loaded; there is {}", known.join(", "))]
    Program {
        /// The name.
        name: String,
        /// Programs that are loaded.
        known: Vec<String>,
    },
    /// The program has no instruction there.
    #[error("`{program}` has no instruction at slot {slot}")]
    Slot {
        /// Name of the program.
        program: String,
        /// The slot.
        slot: usize,
    },
    /// No map has this name.
    #[error("there is no map `{name}`; the object has {}", known.join(", "))]
    Map {
        /// The name.
        name: String,
        /// Maps of the object.
        known: Vec<String>,
    },
}

/// Why an expression has no value at a position.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Unavailable(pub String);

impl From<control::Error> for Error {
    fn from(error: control::Error) -> Self {
        Self::Control(Box::new(error))
    }
}

impl Error {
    /// A map refused its contents.
    pub(crate) fn contents(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Contents(Box::new(error))
    }
}

/// Adds the operation that failed to an error.
pub(crate) trait Context<T> {
    fn with_context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T>;

    /// Adds the path of a file.
    fn on_file(self, path: &Path) -> Result<T>
    where
        Self: Sized,
    {
        self.with_context(|| path.display().to_string())
    }
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn with_context<W: fmt::Display>(self, what: impl FnOnce() -> W) -> Result<T> {
        self.map_err(|error| Error::While {
            what: what().to_string(),
            cause: Box::new(error.into()),
        })
    }
}
