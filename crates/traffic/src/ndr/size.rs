//! `FrameSize`: what a row of the table is for.

use std::fmt;
use std::str::FromStr;

use crate::stream::{Shuffle, Sizes};

/// Frames of one size, or a mix. Sizes are those that the RFC and switches print: with the four
/// bytes of the Ethernet checksum, which software never sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameSize {
    Bytes(u16),
    /// [`IMIX`](crate::stream::Sizes::Imix).
    Imix,
}

impl FrameSize {
    /// RFC 2544, section 9.1, for Ethernet; and the mix.
    pub const ALL: [Self; 8] = [
        Self::Bytes(64),
        Self::Bytes(128),
        Self::Bytes(256),
        Self::Bytes(512),
        Self::Bytes(1024),
        Self::Bytes(1280),
        Self::Bytes(1518),
        Self::Imix,
    ];
}

/// The sizes of frames as software sends them, without the checksum.
impl From<FrameSize> for Sizes {
    fn from(size: FrameSize) -> Self {
        match size {
            FrameSize::Bytes(bytes) => Self::Fixed(bytes.saturating_sub(CHECKSUM).into()),
            FrameSize::Imix => Self::Imix { order: Shuffle::Sequence },
        }
    }
}

impl fmt::Display for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.pad(&bytes.to_string()),
            Self::Imix => f.pad("imix"),
        }
    }
}

impl FromStr for FrameSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("imix") {
            return Ok(Self::Imix);
        }
        match text.parse() {
            Ok(bytes) if bytes >= SHORTEST => Ok(Self::Bytes(bytes)),
            _ => Err(format!("`{text}` is no frame size: {SHORTEST} or more bytes, or imix")),
        }
    }
}

const CHECKSUM: u16 = 4;
/// Of Ethernet.
const SHORTEST: u16 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_shown() {
        for size in FrameSize::ALL {
            assert_eq!(size.to_string().parse(), Ok(size));
        }
        for wrong in ["", "63", "-1", "65536", "64 ", "mix"] {
            assert!(wrong.parse::<FrameSize>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_checksum_is_not_sent() {
        assert_eq!(Sizes::from(FrameSize::Bytes(64)), Sizes::Fixed(60));
        assert!(matches!(Sizes::from(FrameSize::Imix), Sizes::Imix { .. }));
    }
}
