//! Requests to a device for packets that it transmits.
//!
//! Rule: an invalid request stops transmission permanently, so it is rejected here, when it is made
//! or when the frame is pushed.

use super::Request;
use crate::umem::Frame;

/// A request to the device; see [`Frame::request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Computes the Internet checksum of the bytes from `start` to the end of the packet, and
    /// stores it `offset` bytes after `start`, where the sum of the pseudo header must already be:
    /// see [`checksum::prepare`](super::checksum::prepare).
    Checksum { start: u16, offset: u16 },
    /// Records the transmit time, which [`Tx::transmissions`](crate::Tx::transmissions) returns
    /// with this number.
    Timestamp { number: u64 },
    /// Transmits the packet not before this time of the device's clock (Linux 6.15). Later packets
    /// wait, too.
    Launch { at_ns: u64 },
}

/// Why a frame cannot be sent with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error(
        "no space for requests before the packet: build the memory with transmit metadata, and do \
         not move heads into the first 24 bytes of a frame"
    )]
    /// The frame has no space for requests.
    NoRoom,
    #[error(
        "a checksum at byte {at} of a packet of {len} bytes, counted in its first part: set the \
         length of the packet first, or use other places"
    )]
    /// The checksum is outside of the first part of the packet.
    Outside { at: usize, len: usize },
    #[error(
        "a software checksum covers only the first part of a packet in several parts: compute it \
         in the program, or build the memory without software checksums"
    )]
    /// The kernel would compute the checksum of the first part only.
    Fragmented,
    /// The device lacks this ability.
    #[error("the device does not support it: {0}; remove the request, or use another device")]
    Unsupported(&'static str),
}

/// The abilities of the device of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Abilities {
    pub checksum: bool,
    /// Checksums also of packets in several parts.
    pub long_checksum: bool,
    pub timestamp: bool,
    pub launch: bool,
}

impl Frame {
    /// Adds a request for the device to this packet, at most one of each kind. The memory needs
    /// [`transmit_metadata`](crate::umem::Builder::transmit_metadata). Afterwards the head of the
    /// frame cannot be moved. Whether the device supports the request is checked when the frame is
    /// pushed.
    ///
    /// # Errors
    /// [`RequestError::NoRoom`] without space before the packet, or [`RequestError::Outside`].
    pub fn request(&mut self, offload: Offload) -> Result<(), RequestError> {
        let len = self.len();
        let asked = self.has_request();
        let front = self.request_front().ok_or(RequestError::NoRoom)?;
        let request = if asked { Request::read(front) } else { Request::default() };
        let request = match offload {
            Offload::Checksum { start, offset } => request.with_checksum(start, offset),
            Offload::Timestamp { .. } => request.with_timestamp(),
            Offload::Launch { at_ns } => request.with_launch(at_ns),
        };
        check_place(request, len)?;
        request.write(front);
        self.note_request();
        if let Offload::Timestamp { number } = offload {
            self.note_number(number);
        }
        Ok(())
    }

    /// The request of this frame, if it has one.
    pub(crate) fn requested(&self) -> Option<Request> {
        self.has_request().then(|| self.front(Request::SIZE)).flatten().map(Request::read)
    }
}

impl Request {
    /// Checks that the kernel and the device support the request for this packet.
    pub fn refusal(self, frame: &Frame, can: Abilities) -> Result<(), RequestError> {
        check_place(self, frame.len())?;
        let sums = self.checksum_end().is_some();
        if sums && frame.is_fragmented() && !can.long_checksum {
            return Err(RequestError::Fragmented);
        }
        let requests = [
            (sums && !can.checksum, "no checksums with zero copy"),
            (self.has_timestamp() && !can.timestamp, "no transmit timestamps with zero copy"),
            (self.has_launch() && !can.launch, "no launch time, it sends immediately"),
        ];
        match requests.into_iter().find(|(is_refused, _)| *is_refused) {
            Some((_, why)) => Err(RequestError::Unsupported(why)),
            None => Ok(()),
        }
    }
}

/// Checks that the checksum field is in the first part, as the kernel requires.
fn check_place(request: Request, len: usize) -> Result<(), RequestError> {
    match request.checksum_end() {
        Some(end) if end > len => Err(RequestError::Outside { at: end - 2, len }),
        _ => Ok(()),
    }
}
