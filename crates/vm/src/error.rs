//! Errors of loading an object and of the calls that control a machine.

use spec::MapKind;

use crate::errno::Errno;
use crate::fault::{Fault, SkipReason};
use crate::world;

/// An error of loading or of the control path. What a program does wrong is a [`Fault`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object cannot be prepared for loading: a relocation or configuration value failed.
    #[error("object `{object}`: {source}")]
    Object { object: String, source: Box<spec::Error> },
    /// An instruction is invalid.
    #[error("program `{program}` instruction {slot}: {cause}")]
    Code { program: String, slot: usize, cause: InvalidInsn },
    /// A program calls a function that the engine does not have.
    #[error("program `{program}` instruction {slot}: {function} is not available to XDP: {cause}")]
    Function { program: String, slot: usize, function: String, cause: Unavailable },
    /// A map cannot be created, filled or used.
    #[error("map `{map}`: {cause}: {errno}")]
    Map { map: String, cause: MapProblem, errno: Errno },
    /// The object has no program or map of that name.
    #[error("object `{object}` has no {what} `{name}`; it has: {}", .known.join(", "))]
    Unknown { object: String, what: &'static str, name: String, known: Vec<String> },
    /// A configuration option of the kernel has no value.
    #[error(
        "object `{object}` needs the configuration option `{name}`: give its value with \
         --kconfig NAME=VALUE, take the host's with --world host, or declare it __weak if 0 \
         will do"
    )]
    Kconfig { object: String, name: String },
    /// The program was not loaded.
    #[error("program `{program}` is not loaded: {cause}")]
    Skipped { program: String, cause: SkipReason },
    /// The packet is not one that a driver would give to the program.
    #[error("packet: {0}")]
    Packet(InvalidPacket),
    /// The environment is contradictory.
    #[error("world: {0}")]
    World(world::Error),
    /// A program was stopped.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// Result of loading and of the control path.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an instruction is invalid whatever the program does at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInsn {
    #[error("the program has no instructions")]
    NoInstructions,
    #[error("unknown instruction")]
    Unknown,
    #[error("unknown register; expected r0 to r10")]
    Register,
    #[error("r10 is read-only")]
    FramePointer,
    #[error("reserved fields are not zero")]
    Reserved,
    #[error("the second half of a 64-bit load is missing")]
    Truncated,
    #[error("jumps to slot {target}, outside the program")]
    JumpOutside { target: i64 },
    #[error("jumps to slot {target}, the second half of a 64-bit load")]
    JumpIntoWideLoad { target: i64 },
    #[error("the program is too long")]
    TooLong,
    #[error("calls a function that no relocation names")]
    UnnamedFunction,
    #[error("loads an address that no relocation names")]
    UnnamedAddress,
    #[error("names a map that does not exist")]
    UnknownMap,
    #[error("legacy packet access is not supported: read packets through pointers")]
    LegacyAccess,
}

/// Why the engine does not have a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error("it may sleep, and packet programs may not: the kernel refuses it as well")]
    MaySleep,
    #[error("it takes an sk_buff, which an XDP program never has")]
    TakesSkBuff,
    #[error("its map type is refused: there is no storage for tasks and control groups")]
    MapType,
    #[error("there are no tasks and control groups")]
    NoTasks,
    #[error("it reads structures of the kernel, and there is no kernel")]
    NoKernel,
    #[error("its contexts are created by programs of another type, which are not supported")]
    CryptoContext,
    #[error("kernel variables are not supported")]
    KernelVariable,
    #[error("it is not supported yet")]
    NotYet,
    #[error("programs of this type cannot use it")]
    ProgramType,
    #[error("XDP programs have no such kernel function")]
    UnknownKfunc,
}

/// What is wrong with a map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapProblem {
    /// The type is not supported; holds the reason.
    #[error("{why}")]
    UnsupportedType { kind: MapKind, why: &'static str },
    /// The definition is invalid; holds the reason.
    #[error("{0}")]
    Definition(&'static str),
    #[error("cannot be created")]
    Creation,
    #[error("cannot be filled")]
    Contents,
    #[error("cannot set element {index}")]
    Element { index: u32 },
    #[error("holds programs of another kind than `{program}`")]
    ProgramKind { program: String },
    /// The map was not created because no loaded program uses it; holds the error of its creation.
    #[error("no loaded program uses it, and {0}")]
    NotCreated(String),
}

/// Why a packet cannot be given to a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPacket {
    #[error("{len} bytes are less than an Ethernet header")]
    TooShort { len: u64 },
    #[error("{len} bytes exceed the {longest} of a frame with all its fragments")]
    TooLong { len: u64, longest: u64 },
    #[error("{len} bytes of metadata; expected a multiple of 4 up to {longest}")]
    Metadata { len: u64, longest: u64 },
    #[error("{len} bytes exceed one buffer, and `{program}` is not `xdp.frags`")]
    Fragmented { len: u64, program: String },
}
