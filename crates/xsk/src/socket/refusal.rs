//! Reasons why a packet cannot be sent.

use crate::Error;
use crate::metadata::RequestError;
use crate::umem::Frame;

/// Why a packet cannot be sent. Packets that the kernel would drop silently, or that would stop
/// transmission, are rejected before they reach it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// No frame is free, or the tx ring is full.
    #[error("no free frame, or no space in the tx ring: wait until packets are sent")]
    Full,
    #[error("a packet, or a part of one, of 0 bytes cannot be sent")]
    Empty,
    #[error(
        "a packet of {len} bytes does not fit into a frame: there is room for {room}; use larger \
         frames, or a chain of them with multi-buffer on"
    )]
    TooLong { len: usize, room: usize },
    #[error(
        "a packet of {len} bytes, and the interface takes {most}, which is its MTU, an Ethernet \
         header and a VLAN tag: raise the MTU and open the socket again, or send shorter packets"
    )]
    OverMtu { len: usize, most: usize },
    #[error("the frame is of other memory than the socket's")]
    Foreign,
    #[error("a packet in {parts} parts needs a socket with multi-buffer on")]
    Fragmented { parts: u32 },
    #[error("a packet in {parts} parts, and {most} can be sent: use larger frames")]
    TooManyParts { parts: u32, most: u32 },
    #[error(
        "{headroom} bytes are before the data, and memory with transmit metadata needs \
         {needed} there: move the head less far back"
    )]
    NoHeadroom { headroom: u32, needed: u32 },
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The interface or the socket failed; packets that were queued before remain queued.
    #[error(transparent)]
    Failed(Box<Error>),
}

/// A frame that was not sent, with the reason.
#[derive(Debug)]
pub struct Rejected {
    pub frame: Frame,
    pub why: SendError,
}
