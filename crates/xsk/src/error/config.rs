//! `ConfigError`: options that cannot be used.

use packet::ParseError;

use crate::limits::{LEAST_FRAME, LEAST_ROOM, MOST_FRAMES, MOST_RING, MOST_WATCHED};

/// Why options of memory, sockets or steering cannot be used. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No frames, or too many.
    #[error("{count} frames: use 1 to {max}", max = MOST_FRAMES)]
    FrameCount { count: u32 },
    /// Frames of a size that the kernel does not support.
    #[error("frames of {size} bytes: the kernel supports {min} to {page}", min = LEAST_FRAME)]
    FrameSize { size: u32, page: u32 },
    /// Aligned frames of a size that is not a power of two.
    #[error("frames of {size} bytes: use a power of two, such as {near}, or unaligned frames")]
    FrameAlignment { size: u32, near: u32 },
    /// Unaligned frames of an odd size.
    #[error(
        "frames of {size} bytes: use an even size; Linux 6.18 returns odd addresses rounded down"
    )]
    OddFrameSize { size: u32 },
    /// Software checksums without transmit metadata.
    #[error(
        "software checksums are computed where packets request them: enable transmit metadata, too"
    )]
    ChecksumsWithoutMetadata,
    /// A headroom that leaves too little for the kernel and a packet.
    #[error(
        "a headroom of {headroom} bytes in frames of {size}: use at most {max}, or larger frames; \
         the kernel needs {room} for itself and a packet",
        room = LEAST_ROOM
    )]
    Headroom { headroom: u32, size: u32, max: u32 },
    /// Transmit metadata on a kernel that does not have it; `source` is the kernel's refusal.
    #[error("transmit metadata requires Linux 6.8: disable it for this memory ({refusal})")]
    MetadataUnsupported { refusal: String },

    /// A ring whose number of slots is not a power of two within the limit.
    #[error(
        "{ring} of {slots} slots: use a power of two up to {max}, such as {near}",
        max = MOST_RING
    )]
    RingSlots { ring: &'static str, slots: u32, near: u32 },
    /// A batch of no packets, or of more than the tx ring holds.
    #[error("a batch of {batch} packets: use 1 to the {slots} slots of the tx ring")]
    Batch { batch: u32, slots: u32 },
    /// A socket that shares the rings of another queue.
    #[error(
        "beside queue {queue} of {interface}: a socket of another queue needs rings of its own; \
         give it the same memory instead"
    )]
    BesideOtherQueue { queue: u32, interface: String },
    /// A socket that shares the rings of a queue with other memory.
    #[error(
        "beside queue {queue} of {interface}: sockets of one queue have the same memory; give \
         none, or the same"
    )]
    BesideOtherMemory { queue: u32, interface: String },
    /// Multi-buffer with memory that was first bound without it.
    #[error(
        "multi-buffer cannot be enabled on the memory of a socket without it: enable it there, \
         too, or use other memory"
    )]
    MultiBuffer,

    /// Waiting by busy polling without its options.
    #[error("waiting by busy polling requires the options of the socket: set `busy_poll`")]
    BusyPollUnset,
    /// A time of busy polling that is out of range.
    #[error("busy polling for {microseconds} µs: use 1 or more, such as 20")]
    BusyPollTime { microseconds: u32 },
    /// A budget of busy polling that is out of range.
    #[error("busy polling of {budget} packets: use 1 to {max}, such as 64", max = u16::MAX)]
    BusyPollBudget { budget: u32 },
    /// More sockets than one wait supports.
    #[error("{count} sockets in one wait: use at most {max}, and more threads", max = MOST_WATCHED)]
    TooManySockets { count: usize },
    /// An asynchronous socket outside of a runtime.
    #[error("an asynchronous socket must be created in a tokio runtime with `enable_io`")]
    NoRuntime,
    /// An empty list of processors.
    #[error("the list of processors is empty: name at least one")]
    NoCpus,

    /// A queue that the program does not serve.
    #[error("queue {queue} of {interface}: it has {count} receive queues, numbered from 0")]
    NoQueue { queue: u32, interface: String, count: u32 },
    /// A descriptor that is not an AF_XDP socket.
    #[error("packets can only be steered to AF_XDP sockets")]
    NotASocket,
    /// A map of another type than XSKMAP.
    #[error("map `{map}` is a {kind}, not an xskmap")]
    NotASocketMap { map: String, kind: String },
    /// A slot outside of the map of sockets.
    #[error("slot {slot} is outside of map `{map}`, which has {slots} slots")]
    NoSlot { slot: u32, map: String, slots: u32 },
    /// Steering by rules without a rule.
    #[error("no rules: no packet would go to a socket; give one, or steer all")]
    NoRules,
    /// More rules than the program has space for.
    #[error("{count} rules, more than {max}: combine them by wider prefixes and port ranges")]
    TooManyRules { count: usize, max: usize },
    /// A rule that matches no packet.
    #[error(transparent)]
    Rule(#[from] ParseError),
}
