//! Limits of loops, retries, waits and buffers.

use std::time::Duration;

/// Frames that move together between a socket's cache and the depot; in memory of fewer than 2,048
/// frames, a 32nd of the frames.
pub const MAGAZINE: usize = 64;

/// Attempts to attach when the program of the interface changes meanwhile.
pub const ATTACH_ATTEMPTS: u32 = 32;
/// Most chunks of one packet: enough for 64 KiB in the smallest frames.
pub const FRAGMENTS: usize = MAGAZINE;
/// Most chunks of a packet that is sent: `MAX_SKB_FRAGS`, by default 17, and one more.
pub const TRANSMIT_PARTS: u32 = 18;
/// Most magazines of free frames in the cache of each half of a socket.
pub const MAGAZINES: usize = 4;
/// Most free frames in such a cache.
pub const CACHE: usize = MAGAZINES * MAGAZINE;
/// Bytes of the smallest frame, `XDP_UMEM_MIN_CHUNK_SIZE`.
pub const LEAST_FRAME: u32 = 2048;
/// Bytes of a frame that must remain after the headroom: Linux 6.18.44 requires its own 256 bytes
/// before a packet, 320 after it, and 128 for the packet. Older kernels require less, which leaves
/// little space for packets.
pub const LEAST_ROOM: u32 = 704;
/// Most frames of one memory.
pub const MOST_FRAMES: u32 = 1 << 24;
/// Number of frames, or a quarter of the fill ring, that are returned to the kernel at the end of a
/// batch. Fewer frames are returned when the next batch begins, so that replies to a few packets
/// are sent first.
pub const REFILL: u32 = 16;
/// When the kernel has fewer frames than this, or than half of the fill ring, all available frames
/// are returned immediately, since they must last until the next batch.
pub const RESERVE: u32 = 64;
/// Packets whose first bytes are prefetched, since another processor wrote them.
pub const AHEAD: u32 = 8;
/// Most consecutive calls that let the kernel transmit, as long as each transmits packets; in copy
/// mode one call transmits 32.
pub const KICKS: u32 = 256;
/// How long a queue may remain busy after its last socket was closed.
pub const BUSY: Duration = Duration::from_millis(500);
/// How long a driver with zero copy may write into frames of a closed socket.
pub const RETIREMENT: Duration = Duration::from_secs(1);
/// Interval at which a wait checks that the interface exists, since its removal wakes no thread.
pub const LOOK: Duration = Duration::from_millis(100);
/// Most slots of a ring.
pub const MOST_RING: u32 = 1 << 16;
/// Number of reads of a ring index between two reads of the clock.
pub const LOOKS: u32 = 32;
/// How long an adaptive wait spins: about three times what waking a thread takes.
pub const MOST_SPIN: Duration = Duration::from_micros(50);
/// How long an adaptive wait spins where packets are rare.
pub const LEAST_SPIN: Duration = Duration::from_micros(1);
/// Number of packets in one batch from which an adaptive wait no longer spins.
pub const FLOOD: u32 = 16;
/// First and longest sleep while waiting for an event that the kernel does not report.
pub const NAPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));
/// Most sockets in one wait.
pub const MOST_WATCHED: usize = 256;
