//! One netlink request to the kernel, and all of its replies.
//!
//! Rule: an exchange ends at the acknowledgement or at the end of the dump, so the socket is empty
//! between two exchanges; a refusal carries the kernel's own sentence (extended acknowledgement).
//! Not here: batches of requests (`batch`), and what the payloads mean (`link`, `address`, …,
//! `generic`).

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_ACK_TLVS, NLM_F_CAPPED, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST,
    NLMSG_DONE, NLMSG_ERROR, NLMSG_NOOP, NlasIterator,
};
use netlink_sys::{Socket, SocketAddr};

use crate::error::{Error, Result};

pub(super) struct Conversation {
    pub(super) socket: Socket,
    pub(super) sequence: u32,
}

/// A request, and its name in errors.
pub(super) struct Request<'a> {
    /// As the manual writes it, such as `rtnetlink(RTM_NEWLINK)`.
    pub call: &'static str,
    /// The object in error messages.
    pub object: &'a str,
    /// Message type of the request.
    pub kind: u16,
    /// `NLM_F_*`; request and acknowledge are added.
    pub flags: u16,
    /// Header and attributes after the netlink header.
    pub payload: Vec<u8>,
}

pub(super) struct Reply {
    /// Message type of the reply.
    pub kind: u16,
    /// Header and attributes after the netlink header.
    pub payload: Vec<u8>,
}

pub(super) enum Step {
    Part(Reply),
    Nothing,
    End,
}

impl Conversation {
    /// Opens a socket of a netlink protocol.
    pub fn open(call: &'static str, protocol: isize) -> Result<Self> {
        let fail = |error: std::io::Error| Error::from_io(call, "", &error);
        let mut socket = Socket::new(protocol).map_err(fail)?;
        socket.bind_auto().map_err(fail)?;
        socket.set_ext_ack(true).map_err(fail)?;
        socket.set_cap_ack(true).map_err(fail)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// All replies in order. A dump that a concurrent change made inconsistent is repeated.
    pub fn exchange(&mut self, request: &Request<'_>) -> Result<Vec<Reply>> {
        for _ in 0..DUMP_ATTEMPTS {
            self.send(request)?;
            if let Some(replies) = self.collect(request)? {
                return Ok(replies);
            }
        }
        Err(Error::new(request.call, request.object, libc::EAGAIN)
            .with_detail("the listed objects keep changing; try again"))
    }

    fn send(&mut self, request: &Request<'_>) -> Result<()> {
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let dump = request.flags & NLM_F_DUMP == NLM_F_DUMP;
        let acknowledge = if dump { 0 } else { NLM_F_ACK };
        let flags = request.flags | NLM_F_REQUEST | acknowledge;
        let length = HEADER + request.payload.len();
        let mut message = Vec::with_capacity(length);
        message.extend_from_slice(&header(length, request.kind, flags, self.sequence));
        message.extend_from_slice(&request.payload);
        let kernel = SocketAddr::new(0, 0);
        self.socket
            .send_to(&message, &kernel, 0)
            .map_err(|error| Error::from_io(request.call, request.object, &error))?;
        Ok(())
    }

    /// `None` when the dump was interrupted by a change.
    fn collect(&mut self, request: &Request<'_>) -> Result<Option<Vec<Reply>>> {
        let mut replies = Vec::new();
        let mut consistent = true;
        loop {
            let datagram = self.receive(request)?;
            for message in messages(&datagram) {
                if message.sequence != self.sequence {
                    continue;
                }
                consistent &= message.flags & NLM_F_DUMP_INTR == 0;
                match message.step(request)? {
                    Step::Part(reply) => replies.push(reply),
                    Step::Nothing => {}
                    Step::End => return Ok(consistent.then_some(replies)),
                }
            }
        }
    }

    fn receive(&self, request: &Request<'_>) -> Result<Vec<u8>> {
        loop {
            let mut datagram = Vec::with_capacity(DATAGRAM);
            match self.socket.recv_from(&mut datagram, libc::MSG_TRUNC) {
                Ok((length, _)) if length > DATAGRAM => {
                    return Err(Error::new(request.call, request.object, libc::EMSGSIZE));
                }
                Ok(_) => return Ok(datagram),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::from_io(request.call, request.object, &error)),
            }
        }
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

/// `struct nlmsghdr`; the kernel knows the sender's port.
pub(super) fn header(length: usize, kind: u16, flags: u16, sequence: u32) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[0..4].copy_from_slice(&(length as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
    bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    bytes
}

/// One message inside a datagram.
pub(super) struct Message<'a> {
    kind: u16,
    flags: u16,
    pub(super) sequence: u32,
    payload: &'a [u8],
}

impl Message<'_> {
    pub(super) fn step(&self, request: &Request<'_>) -> Result<Step> {
        match self.kind {
            NLMSG_NOOP => Ok(Step::Nothing),
            NLMSG_DONE => self.verdict(request, 4),
            NLMSG_ERROR => {
                let capped = self.flags & NLM_F_CAPPED != 0;
                let echoed = if capped { HEADER } else { self.echoed_length() };
                self.verdict(request, 4 + echoed)
            }
            kind => Ok(Step::Part(Reply { kind, payload: self.payload.to_vec() })),
        }
    }

    /// An error contains the request that it refers to, in full length unless capped.
    fn echoed_length(&self) -> usize {
        aligned(word(self.payload, 4).unwrap_or(0) as usize).max(HEADER)
    }

    /// `tlvs`: where the extended acknowledgement starts in the payload.
    fn verdict(&self, request: &Request<'_>, tlvs: usize) -> Result<Step> {
        let errno = word(self.payload, 0).map_or(0, |raw| (raw as i32).wrapping_neg());
        if errno <= 0 {
            return Ok(Step::End);
        }
        let error = Error::new(request.call, request.object, errno);
        if self.flags & NLM_F_ACK_TLVS == 0 {
            return Err(error);
        }
        Err(error.with_detail(sentence(self.payload.get(tlvs..).unwrap_or(&[]))))
    }
}

/// The text of an extended acknowledgement, or the name of the attribute that it reports missing.
fn sentence(tlvs: &[u8]) -> String {
    let mut text = String::new();
    let mut missing = None;
    for nla in NlasIterator::new(tlvs).flatten() {
        match nla.kind() {
            NLMSGERR_ATTR_MSG => {
                let value = nla.value();
                let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
                text = String::from_utf8_lossy(&value[..end]).into_owned();
            }
            NLMSGERR_ATTR_MISS_TYPE => missing = word(nla.value(), 0),
            _ => {}
        }
    }
    match missing {
        Some(attribute) if text.is_empty() => format!("attribute {attribute} is missing"),
        _ => text,
    }
}

/// Cuts a datagram into messages; stops at the first that does not fit.
pub(super) fn messages(datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = word(rest, 0)? as usize;
        let payload = rest.get(HEADER..length)?;
        let message = Message {
            kind: half(rest, 4)?,
            flags: half(rest, 6)?,
            sequence: word(rest, 8)?,
            payload,
        };
        rest = rest.get(aligned(length)..).unwrap_or(&[]);
        Some(message)
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) const fn aligned(length: usize) -> usize {
    (length + 3) & !3
}

/// `struct nlmsghdr`.
pub(super) const HEADER: usize = 16;
/// Larger than any datagram that the kernel builds for a dump (32 KiB).
pub(super) const DATAGRAM: usize = 1 << 16;
const DUMP_ATTEMPTS: usize = 8;

// `enum nlmsgerr_attrs` in include/uapi/linux/netlink.h.
const NLMSGERR_ATTR_MSG: u16 = 1;
const NLMSGERR_ATTR_MISS_TYPE: u16 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn tlv(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn refusal(errno: i32, flags: u16, echoed: &[u8], tlvs: &[u8]) -> Vec<u8> {
        let mut payload = (-errno).to_ne_bytes().to_vec();
        payload.extend(((HEADER + echoed.len()) as u32).to_ne_bytes());
        payload.extend([0; HEADER - 4]);
        payload.extend(echoed);
        payload.extend(tlvs);
        let mut bytes = ((HEADER + payload.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(NLMSG_ERROR.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(payload);
        bytes
    }

    fn outcome(datagram: &[u8]) -> Result<()> {
        let request =
            Request { call: "rtnetlink(X)", object: "eth9", kind: 0, flags: 0, payload: vec![] };
        let message = messages(datagram).next().expect("one message");
        message.step(&request).map(|_| ())
    }

    #[test]
    fn refusals_speak_the_kernels_words() {
        let text = tlv(NLMSGERR_ATTR_MSG, b"Underlying driver does not support XDP\0");
        let missing = tlv(NLMSGERR_ATTR_MISS_TYPE, &7u32.to_ne_bytes());
        let cases: [(&str, Vec<u8>, &str); 5] = [
            ("capped", refusal(95, NLM_F_CAPPED | NLM_F_ACK_TLVS, b"", &text), "Underlying"),
            ("echoed", refusal(95, NLM_F_ACK_TLVS, b"12345678", &text), "Underlying"),
            ("silent", refusal(1, NLM_F_CAPPED, b"", b""), ""),
            ("missing", refusal(22, NLM_F_CAPPED | NLM_F_ACK_TLVS, b"", &missing), "attribute 7"),
            ("cut off", refusal(22, NLM_F_CAPPED | NLM_F_ACK_TLVS, b"", &text[..6]), ""),
        ];
        for (name, datagram, expected) in cases {
            let error = outcome(&datagram).expect_err(name);
            assert!(error.detail.starts_with(expected), "{name}: {error}");
            assert_eq!(error.detail.is_empty(), expected.is_empty(), "{name}: {error}");
        }
    }

    #[test]
    fn acknowledgement_is_no_error() {
        assert_eq!(outcome(&refusal(0, NLM_F_CAPPED, b"", b"")), Ok(()));
    }

    #[test]
    fn truncated_datagrams_hold_no_message() {
        let whole = refusal(1, NLM_F_CAPPED, b"", b"");
        for length in 0..whole.len() {
            assert_eq!(messages(&whole[..length]).count(), 0, "{length} bytes");
        }
        assert_eq!(messages(&[0; 64]).count(), 0, "a length of zero must not loop");
    }
}
