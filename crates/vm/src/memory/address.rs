//! Addresses as programs see them: a region number in the high bits, an offset in the low 40.
//!
//! They are not addresses of the host, so a run repeats exactly, an invalid pointer hits no memory,
//! and the region describes what was accessed. Regions with elements (map values, stack frames)
//! have a gap in their offsets after each element, which detects an access past its end.

/// Bits of an address below the region number.
pub const OFFSET_BITS: u32 = 40;
pub const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// Number of the region that contains an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub u32);

impl RegionId {
    /// Null and small numbers: no memory.
    pub const NULL: Self = Self(0);
    /// `struct xdp_md`: reads are translated, see `processor::context`.
    pub const CONTEXT: Self = Self(1);
    /// Input of a program that takes no packet.
    pub const INPUT: Self = Self(2);
    pub const STACK: Self = Self(3);
    /// Map pointers: the offset is the map's number. Not readable.
    pub const MAPS: Self = Self(4);
    /// Addresses of BPF functions: the offset is the function's slot. Not readable.
    pub const FUNCTIONS: Self = Self(5);
    /// Objects that helpers lend to a program: sockets, dynptr slices, allocated objects.
    pub const OBJECTS: Self = Self(6);
    /// First number of the packet. Moving the packet's ends takes the next one, by which a stale
    /// pointer is recognized.
    pub const PACKET: Self = Self(16);
    pub const PACKETS: u32 = 16;
    /// First of the windows onto ring buffer records that a program is writing.
    const RECORDS: Self = Self(32);
    /// Records that a program may have open at the same time.
    pub const RECORDS_AT_ONCE: u32 = 32;
    /// The values of map number n are in region `VALUES + n`.
    pub const VALUES: Self = Self(64);

    pub const fn of(address: u64) -> Self {
        Self((address >> OFFSET_BITS) as u32)
    }

    pub const fn values_of(map: u32) -> Self {
        Self(Self::VALUES.0 + map)
    }

    /// Whether this is a region of lent or allocated objects: from [`Self::OBJECTS`] up to the
    /// packet's.
    pub const fn is_object(self) -> bool {
        self.0 >= Self::OBJECTS.0 && self.0 < Self::PACKET.0
    }

    pub const fn record(window: u32) -> Self {
        Self(Self::RECORDS.0 + window)
    }

    /// Number of the window onto a record; `None` for other regions.
    pub fn as_record(self) -> Option<u32> {
        self.0.checked_sub(Self::RECORDS.0).filter(|window| *window < Self::RECORDS_AT_ONCE)
    }

    pub const fn is_packet(self) -> bool {
        self.0 >= Self::PACKET.0 && self.0 < Self::PACKET.0 + Self::PACKETS
    }

    pub const fn at(self, offset: u64) -> u64 {
        (self.0 as u64) << OFFSET_BITS | offset
    }
}

/// The offset of an address in its region.
pub const fn offset(address: u64) -> u64 {
    address & OFFSET_MASK
}

/// Value of a register that is not set, or was unset by a call: its region does not exist.
pub const POISON: u64 = 0xdead_dead_dead_dead;
