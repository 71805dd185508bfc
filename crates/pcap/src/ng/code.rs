//! Numbers of the pcapng format that reading and writing share.
//!
//! Source: draft-ietf-opsawg-pcapng, sections 3.5 and 4.

/// Section header block; the number reads equal in both byte orders.
pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE: u32 = 1;
pub(crate) const OLD_PACKET: u32 = 2;
pub(crate) const SIMPLE: u32 = 3;
pub(crate) const ENHANCED: u32 = 6;
/// Blocks that are parsed.
pub(crate) const READ: [u32; 5] = [SECTION, INTERFACE, ENHANCED, SIMPLE, OLD_PACKET];

pub(crate) const BYTE_ORDER: u32 = 0x1a2b_3c4d;

pub(crate) const OPT_END: u16 = 0;
pub(crate) const OPT_COMMENT: u16 = 1;

pub(crate) const SHB_HARDWARE: u16 = 2;
pub(crate) const SHB_OS: u16 = 3;
pub(crate) const SHB_APPLICATION: u16 = 4;

pub(crate) const IF_NAME: u16 = 2;
pub(crate) const IF_TSRESOL: u16 = 9;
pub(crate) const IF_TSOFFSET: u16 = 14;

pub(crate) const EPB_FLAGS: u16 = 2;
pub(crate) const EPB_DROPCOUNT: u16 = 4;
pub(crate) const EPB_PACKETID: u16 = 5;
pub(crate) const EPB_QUEUE: u16 = 6;
pub(crate) const EPB_VERDICT: u16 = 7;

/// First byte of a verdict that an XDP program gave; its code follows in 8 bytes.
pub(crate) const VERDICT_XDP: u8 = 2;
