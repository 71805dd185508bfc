//! `Stamp`: the last 16 bytes of a frame that a sink verifies.
//!
//! ```text
//!  0        2        4        8        12      13      14      16
//!  ├─ magic ┼ stream ┼ number ┼ time ──┼ source┼ kind ─┼ check ┤   all big-endian
//! ```
//! It is at the end of the frame, so that it survives address translation, and headers that a
//! device adds or removes. `check` makes the ones' complement sum of the stamp zero (0xffff), so
//! that a checksum over the stamp does not depend on its contents or place.
//! `bpf/include/xway/stamp.h` has the same layout in C.

use packet::checksum;
use serde::{Deserialize, Serialize};

/// The identification of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the stream, [`Template::id`](crate::Template::id).
    pub stream: u16,
    /// The thread that sent it; each counts its frames of each stream from zero.
    pub source: u8,
    /// Low 32 bits of the frame's number.
    pub number: u32,
    /// Low 32 bits of the sender's monotonic clock in ns: latencies up to 2.1 s can be measured.
    pub time_ns: u32,
    /// The role of the frame.
    pub kind: Kind,
}

/// The role of a stamped frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A frame that is counted.
    Data(Expect),
    /// A counted frame that a reflecting sink has returned.
    Reflected(Expect),
    /// The end of a stream, with the low 32 bits of its number of frames. It is not counted, and
    /// sent several times, since it may be lost.
    End,
    /// The end of a stream, returned by a reflecting sink.
    ReflectedEnd,
}

/// What a device under test must do with the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// Forward it.
    #[default]
    Pass,
    /// Discard it.
    Drop,
}

impl Stamp {
    /// Bytes of a stamp.
    pub const LEN: usize = 16;
    /// The first two bytes.
    pub const MAGIC: u16 = 0x5857;

    /// Offset of the stream.
    pub const STREAM: usize = 2;
    /// Offset of the number.
    pub const NUMBER: usize = 4;
    /// Offset of the time.
    pub const TIME: usize = 8;
    /// Offset of the source.
    pub const SOURCE: usize = 12;
    /// Offset of the kind.
    pub const KIND: usize = 13;
    /// Offset of the check.
    pub const CHECK: usize = 14;

    /// The stamp as bytes of a frame.
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..Self::STREAM].copy_from_slice(&Self::MAGIC.to_be_bytes());
        bytes[Self::STREAM..Self::NUMBER].copy_from_slice(&self.stream.to_be_bytes());
        bytes[Self::NUMBER..Self::TIME].copy_from_slice(&self.number.to_be_bytes());
        bytes[Self::TIME..Self::SOURCE].copy_from_slice(&self.time_ns.to_be_bytes());
        bytes[Self::SOURCE] = self.source;
        bytes[Self::KIND] = self.kind.code();
        let check = !sum(&bytes);
        bytes[Self::CHECK..].copy_from_slice(&check.to_be_bytes());
        bytes
    }

    /// The stamp at the end of a frame; `None` without one.
    ///
    /// # Errors
    /// [`Damaged`] when its check does not match.
    pub fn read(frame: &[u8]) -> Option<Result<Self, Damaged>> {
        let bytes: &[u8; Self::LEN] = frame.last_chunk()?;
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        if half(0) != Self::MAGIC {
            return None;
        }
        let kind = Kind::from_code(bytes[Self::KIND]).filter(|_| sum(bytes) == 0xffff);
        Some(kind.ok_or(Damaged).map(|kind| Self {
            stream: half(Self::STREAM),
            source: bytes[Self::SOURCE],
            number: word(Self::NUMBER),
            time_ns: word(Self::TIME),
            kind,
        }))
    }
}

/// A stamp whose check does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl Kind {
    /// Code of counted frames.
    pub const DATA: u8 = 0;
    /// Flag of returned frames.
    pub const REFLECTED: u8 = 1;
    /// Code of the end of a stream.
    pub const END: u8 = 2;
    const END_REFLECTED: u8 = Self::END | Self::REFLECTED;
    /// Flag of frames that must be discarded.
    pub const EXPECT_DROP: u8 = 0x80;

    /// The kind as a byte.
    pub fn code(self) -> u8 {
        let of = |expect| if expect == Expect::Drop { Self::EXPECT_DROP } else { 0 };
        match self {
            Self::Data(expect) => Self::DATA | of(expect),
            Self::Reflected(expect) => Self::REFLECTED | of(expect),
            Self::End => Self::END,
            Self::ReflectedEnd => Self::END | Self::REFLECTED,
        }
    }

    /// The kind of a byte; `None` if it is unknown.
    pub fn from_code(code: u8) -> Option<Self> {
        let expect = if code & Self::EXPECT_DROP == 0 { Expect::Pass } else { Expect::Drop };
        match (code & !Self::EXPECT_DROP, expect) {
            (Self::DATA, expect) => Some(Self::Data(expect)),
            (Self::REFLECTED, expect) => Some(Self::Reflected(expect)),
            (Self::END, Expect::Pass) => Some(Self::End),
            (Self::END_REFLECTED, Expect::Pass) => Some(Self::ReflectedEnd),
            _ => None,
        }
    }
}

/// The folded ones' complement sum of 16-bit words.
fn sum(bytes: &[u8; Stamp::LEN]) -> u16 {
    checksum::fold(checksum::sum(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp {
        stream: 7,
        source: 3,
        number: 0xfffe_0001,
        time_ns: 123_456_789,
        kind: Kind::Data(Expect::Drop),
    };

    #[test]
    fn what_is_written_is_read() {
        let data = [Kind::Data(Expect::Pass), Kind::Reflected(Expect::Drop)];
        for kind in [data, [Kind::End, Kind::ReflectedEnd]].concat() {
            let stamp = Stamp { kind, ..STAMP };
            let frame = [&[9; 31][..], &stamp.bytes()].concat();
            assert_eq!(Stamp::read(&frame), Some(Ok(stamp)));
        }
    }

    #[test]
    fn the_sum_of_a_stamp_is_always_zero() {
        for number in [0, 1, 0xffff, 0x1_0000, u32::MAX] {
            assert_eq!(sum(&Stamp { number, ..STAMP }.bytes()), 0xffff, "{number}");
        }
    }

    #[test]
    fn any_bit_that_is_turned_shows() {
        let good = STAMP.bytes();
        for bit in 16..Stamp::LEN * 8 {
            let mut bytes = good;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Stamp::read(&bytes), Some(Err(Damaged)), "bit {bit}");
        }
    }

    #[test]
    fn frames_without_a_stamp_have_none() {
        assert_eq!(Stamp::read(&[]), None);
        assert_eq!(Stamp::read(&[0x58; 15]), None);
        assert_eq!(Stamp::read(&[0; 60]), None);
    }
}
