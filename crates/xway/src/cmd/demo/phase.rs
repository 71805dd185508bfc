//! The four phases: whether the attacker sends, and where the filter sits.

use kernel::Mode;
use report::plot::Tone;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Quiet,
    Flood,
    FloodGeneric,
    FloodNative,
}

impl Phase {
    pub const ALL: [Self; 4] = [Self::Quiet, Self::Flood, Self::FloodGeneric, Self::FloodNative];

    /// As JSON spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Flood => "flood",
            Self::FloodGeneric => "flood-generic",
            Self::FloodNative => "flood-native",
        }
    }

    /// As the figure spells it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Flood => "flood, no XDP",
            Self::FloodGeneric => "flood, generic XDP",
            Self::FloodNative => "flood, native XDP",
        }
    }

    pub const fn flooded(self) -> bool {
        !matches!(self, Self::Quiet)
    }

    pub const fn mode(self) -> Option<Mode> {
        match self {
            Self::Quiet | Self::Flood => None,
            Self::FloodGeneric => Some(Mode::Generic),
            Self::FloodNative => Some(Mode::Native),
        }
    }

    pub const fn tone(self) -> Tone {
        match self {
            Self::Quiet | Self::FloodGeneric => Tone::Plain,
            Self::Flood => Tone::Danger,
            Self::FloodNative => Tone::Safe,
        }
    }
}
