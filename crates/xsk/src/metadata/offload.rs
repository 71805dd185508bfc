//! What a device is asked to do with a packet that it transmits.
//!
//! Rule: the kernel stops for good at a request that it refuses, so whatever it would refuse is
//! refused here, when it is asked for or when the frame is pushed.

use super::Request;
use crate::umem::Frame;

/// See [`Frame::request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// The Internet checksum of the bytes from `start` to the packet's end is to stand `offset`
    /// bytes behind `start`, where the sum of the pseudo header must be already: see
    /// [`checksum::prepare`](super::checksum::prepare).
    Checksum { start: u16, offset: u16 },
    /// When it was transmitted is told by [`Tx::transmissions`](crate::Tx::transmissions), with
    /// this number.
    Timestamp { number: u64 },
    /// It is not transmitted before this time of the device's own clock (Linux 6.15). Packets
    /// behind it wait, too.
    Launch { at_ns: u64 },
}

/// Why a frame cannot be sent with such a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error(
        "there is no room for requests in front of the packet: build the memory with transmit \
         metadata, and do not move heads into the first 24 bytes of a frame"
    )]
    NoRoom,
    #[error(
        "a checksum at byte {at} of a packet of {len} bytes, counted in its first part: give \
         the packet its length before, or other places"
    )]
    Outside { at: usize, len: usize },
    #[error(
        "a software checksum is that of the first part of a packet in several: fill it in \
         yourself, or build the memory without software checksums"
    )]
    Fragmented,
    #[error("the device does not do it: {0}; do without, or use another one")]
    Unsupported(&'static str),
}

/// What a socket's device does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Abilities {
    pub checksum: bool,
    /// Also of packets in several parts.
    pub long_checksum: bool,
    pub timestamp: bool,
    pub launch: bool,
}

impl Frame {
    /// Asks the device to do something when it transmits this packet; may be called once for each
    /// kind. The memory needs [`transmit_metadata`](crate::umem::Builder::transmit_metadata).
    /// From now on the head stays where it is. Whether the device can is found out when the frame
    /// is pushed.
    ///
    /// # Errors
    /// When there is no room in front of the packet, or the checksum's place is not in it.
    pub fn request(&mut self, offload: Offload) -> Result<(), RequestError> {
        let len = self.len();
        let asked = self.asked();
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

    /// What was asked for.
    pub(crate) fn requested(&self) -> Option<Request> {
        self.asked().then(|| self.front(Request::SIZE)).flatten().map(Request::read)
    }
}

impl Request {
    /// Why the kernel or the device would not do this to a packet.
    pub fn refusal(self, frame: &Frame, can: Abilities) -> Result<(), RequestError> {
        check_place(self, frame.len())?;
        let sums = self.checksum_end().is_some();
        if sums && frame.is_fragmented() && !can.long_checksum {
            return Err(RequestError::Fragmented);
        }
        let wishes = [
            (sums && !can.checksum, "no checksums with zero copy"),
            (self.has_timestamp() && !can.timestamp, "no transmit timestamps with zero copy"),
            (self.has_launch() && !can.launch, "no launch time, it sends at once"),
        ];
        match wishes.into_iter().find(|(is_refused, _)| *is_refused) {
            Some((_, why)) => Err(RequestError::Unsupported(why)),
            None => Ok(()),
        }
    }
}

/// The kernel wants the field in the first part.
fn check_place(request: Request, len: usize) -> Result<(), RequestError> {
    match request.checksum_end() {
        Some(end) if end > len => Err(RequestError::Outside { at: end - 2, len }),
        _ => Ok(()),
    }
}
