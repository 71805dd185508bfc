//! Upper limits of sizes in a capture, so that a damaged size never causes a huge allocation.

/// Bytes of one packet, in reading and in writing: the most that libpcap and Wireshark take of
/// an Ethernet frame. XDP frames are smaller, with all their fragments.
pub const MAX_PACKET: usize = 262_144;
/// Interfaces of one capture, over all its sections.
pub const MAX_INTERFACES: usize = 65_536;
/// Largest pcapng block that is parsed, in bytes; others are skipped, regardless of their length.
pub(crate) const MAX_BLOCK: usize = 16 << 20;
/// Bytes of an interface's name. Windows has the longest, below 100.
pub(crate) const MAX_NAME: usize = 1024;
/// Number of bytes per read, and initial size of the buffer.
pub(crate) const CHUNK: usize = 256 << 10;
