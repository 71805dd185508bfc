//! Bounds of everything that loops, retries, waits or fills up.

use std::time::Duration;

/// Frames that move between a socket's cache and the common depot at once; in memory of fewer than
/// 2,048 frames a 32nd of these.
pub const MAGAZINE: usize = 64;

/// Times that an interface is looked at again because its program changed meanwhile.
pub const ATTACH_ATTEMPTS: u32 = 32;
/// Chunks that one packet may have: 64 KiB in the smallest frames.
pub const FRAGMENTS: usize = MAGAZINE;
/// Chunks that a packet to be sent may have: `MAX_SKB_FRAGS` and one more, with the kernel's
/// default of 17.
pub const TRANSMIT_PARTS: u32 = 18;
/// Magazines of free frames that each half of a socket keeps at most.
pub const MAGAZINES: usize = 4;
/// The frames in them.
pub const CACHE: usize = MAGAZINES * MAGAZINE;
/// Bytes of the smallest frame: the kernel's `XDP_UMEM_MIN_CHUNK_SIZE`.
pub const LEAST_FRAME: u32 = 2048;
/// Linux 6.18.44 refuses more headroom than leaves this of a frame: its own 256 bytes in front of
/// a packet, 320 behind, and 128 for it. Older kernels refuse less, and have room for little then.
pub const LEAST_ROOM: u32 = 704;
/// Frames of one memory.
pub const MOST_FRAMES: u32 = 1 << 24;
/// So many frames that came with packets, or a quarter of the fill ring, go back to the kernel at
/// the end of a batch; fewer when the next one begins, so that answers to few packets leave first.
pub const REFILL: u32 = 16;
/// With fewer frames left, or half of the fill ring, the kernel is given every one at once: it has
/// to bridge the time until the next batch.
pub const RESERVE: u32 = 64;
/// Packets whose first bytes are fetched before their turn comes: another processor wrote them.
pub const AHEAD: u32 = 8;
/// Calls in a row that let the kernel transmit, while it takes packets. In copy mode one takes 32.
pub const KICKS: u32 = 256;
/// How long a queue that its last socket has left may still be called busy.
pub const BUSY: Duration = Duration::from_millis(500);
/// How long a driver with zero copy may still write into frames of a closed socket.
pub const RETIREMENT: Duration = Duration::from_secs(1);
/// How often a wait asks whether the interface is still there: nothing wakes a sleeper then.
pub const LOOK: Duration = Duration::from_millis(100);
/// Slots of a ring.
pub const MOST_RING: u32 = 1 << 16;
/// Looks at a ring between two looks at the clock.
pub const LOOKS: u32 = 32;
/// How long an adaptive wait spins: about three times what waking a thread takes.
pub const MOST_SPIN: Duration = Duration::from_micros(50);
/// The same where packets are rare.
pub const LEAST_SPIN: Duration = Duration::from_micros(1);
/// So many packets at once are a flood, for which an adaptive wait does not spin.
pub const FLOOD: u32 = 16;
/// First and longest sleep of a wait for something of which the kernel does not tell.
pub const NAPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));
/// Sockets that one thread waits for at once.
pub const MOST_WATCHED: usize = 256;
