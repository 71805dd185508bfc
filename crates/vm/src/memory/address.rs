//! Addresses as programs see them: a region's number in the high bits, an offset in the low 40.
//!
//! They are no addresses of the host, so that a run repeats to the bit, a wild pointer can only
//! miss, and the region says in words what was hit. Offsets of regions with elements (map
//! values, stack frames) leave a gap behind each element, which catches running over its end.

/// Bits of an address below the region's number.
pub const OFFSET_BITS: u32 = 40;
pub const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

/// Which region an address lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub u32);

impl RegionId {
    /// Null and small numbers: nothing is ever there.
    pub const NULL: Self = Self(0);
    /// `struct xdp_md`: reading it is translated, see `worker::context`.
    pub const CONTEXT: Self = Self(1);
    /// Plain memory handed to a program that is no packet program.
    pub const INPUT: Self = Self(2);
    pub const STACK: Self = Self(3);
    /// Map pointers: the offset is the map's number. Nothing to read.
    pub const MAPS: Self = Self(4);
    /// Addresses of BPF functions: the offset is the function's slot. Nothing to read.
    pub const FUNCTIONS: Self = Self(5);
    /// What helpers lend to a program in the kernel's place: sockets, dynptr slices, allocated
    /// objects.
    pub const OBJECTS: Self = Self(6);
    /// First of the packet's numbers. Moving the packet's ends takes the next one, so that a
    /// pointer from before is known to be stale.
    pub const PACKET: Self = Self(16);
    pub const PACKETS: u32 = 16;
    /// First of the windows onto ring buffer records that a program is writing.
    const RECORDS: Self = Self(32);
    /// Records that a program may write at once.
    pub const RECORDS_AT_ONCE: u32 = 32;
    /// The values of map number n are in region `VALUES + n`.
    pub const VALUES: Self = Self(64);

    pub const fn of(address: u64) -> Self {
        Self((address >> OFFSET_BITS) as u32)
    }

    pub const fn values_of(map: u32) -> Self {
        Self(Self::VALUES.0 + map)
    }

    /// Lent or allocated objects: all numbers from [`Self::OBJECTS`] to the packet's.
    pub const fn is_object(self) -> bool {
        self.0 >= Self::OBJECTS.0 && self.0 < Self::PACKET.0
    }

    pub const fn record(window: u32) -> Self {
        Self(Self::RECORDS.0 + window)
    }

    /// Which window onto a record this is.
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

/// What a register holds that nobody has set, or that a call has used up: no region is there.
pub const POISON: u64 = 0xdead_dead_dead_dead;
