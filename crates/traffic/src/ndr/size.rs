//! `FrameSize`: the frame size of one row of the result table.

use std::fmt;
use std::str::FromStr;

use crate::stream::{Shuffle, Sizes};

/// Frames of one size, or a mix. Sizes include the four bytes of the Ethernet checksum, which
/// software never sees, as in the RFC and in the counters of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameSize {
    /// Frames of this many bytes.
    Bytes(u16),
    /// [`IMIX`](crate::stream::Sizes::Imix).
    Imix,
}

impl FrameSize {
    /// The sizes of RFC 2544, section 9.1, for Ethernet, and the mix.
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

/// The size in a report of frames that all have this size.
impl TryFrom<&Sizes> for FrameSize {
    type Error = ();

    fn try_from(sizes: &Sizes) -> Result<Self, ()> {
        match sizes {
            Sizes::Fixed(bytes) => {
                let bytes =
                    u16::try_from(*bytes).ok().and_then(|bytes| bytes.checked_add(CHECKSUM));
                bytes.map(Self::Bytes).ok_or(())
            }
            Sizes::Imix { .. } => Ok(Self::Imix),
            _ => Err(()),
        }
    }
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

/// Text that is not a [`FrameSize`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid frame size `{text}`; expected {min} or more bytes, or imix", min = SHORTEST)]
pub struct UnknownFrameSize {
    pub text: String,
}

impl FromStr for FrameSize {
    type Err = UnknownFrameSize;

    fn from_str(text: &str) -> Result<Self, UnknownFrameSize> {
        if text.eq_ignore_ascii_case("imix") {
            return Ok(Self::Imix);
        }
        match text.parse() {
            Ok(bytes) if bytes >= SHORTEST => Ok(Self::Bytes(bytes)),
            _ => Err(UnknownFrameSize { text: text.to_owned() }),
        }
    }
}

/// Bytes of the Ethernet checksum.
const CHECKSUM: u16 = 4;
/// Bytes of the shortest Ethernet frame, with its checksum.
const SHORTEST: u16 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_sizes_are_parsed() {
        for size in FrameSize::ALL {
            assert_eq!(size.to_string().parse(), Ok(size));
        }
        for wrong in ["", "63", "-1", "65536", "64 ", "mix"] {
            let error = UnknownFrameSize { text: wrong.to_owned() };
            assert_eq!(wrong.parse::<FrameSize>(), Err(error));
        }
    }

    #[test]
    fn the_checksum_is_not_sent() {
        assert_eq!(Sizes::from(FrameSize::Bytes(64)), Sizes::Fixed(60));
        assert!(matches!(Sizes::from(FrameSize::Imix), Sizes::Imix { .. }));
    }
}
