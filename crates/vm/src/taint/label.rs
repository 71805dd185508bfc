//! Why a value may differ between two runtimes that both work correctly.

use std::ops::{BitOr, BitOrAssign};

/// A set of causes; empty for values that must be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label(u8);

impl Label {
    pub const NONE: Self = Self(0);
    pub const CLOCK: Self = Self(1);
    pub const RANDOM: Self = Self(2);
    /// A number that was computed from an address, or an address kept as data.
    pub const ADDRESS: Self = Self(4);
    /// An address in use: it has the same meaning everywhere, but not as data.
    pub(super) const POINTER: Self = Self(8);

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Names of the causes.
    pub fn causes(self) -> Vec<&'static str> {
        let named = [(Self::CLOCK, "clock"), (Self::RANDOM, "random"), (Self::ADDRESS, "address")];
        let held = named.into_iter().filter(|(one, _)| self.0 & one.0 != 0);
        held.map(|(_, name)| name).collect()
    }

    pub(super) const fn is_pointer(self) -> bool {
        self.0 & Self::POINTER.0 != 0
    }

    /// The causes without the mark of an address in use.
    pub(super) const fn without_pointer(self) -> Self {
        Self(self.0 & !Self::POINTER.0)
    }

    /// The causes of the value as data: an address becomes a number that differs.
    pub(super) const fn as_data(self) -> Self {
        if self.is_pointer() { Self(self.without_pointer().0 | Self::ADDRESS.0) } else { self }
    }
}

impl BitOr for Label {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Label {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}
