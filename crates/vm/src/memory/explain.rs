//! Explanations of refused accesses. They need not be fast: only a failed run creates one.

use super::address::offset;
use super::{Memory, POISON, RegionId};

impl Memory {
    /// Why an access to `len` bytes at `address` is refused.
    pub fn explain(&self, address: u64, len: usize, write: bool) -> String {
        let id = RegionId::of(address);
        let place = self.describe(address);
        match id {
            RegionId::NULL if offset(address) < 4096 => "that is a null pointer".to_owned(),
            RegionId::NULL => "that is a plain number, not a pointer".to_owned(),
            _ if is_poison(address) => {
                "the register was never set, or a call has used it up".to_owned()
            }
            RegionId::MAPS => format!("{place}: a map has no bytes of its own to touch"),
            RegionId::FUNCTIONS => format!("{place}: code is not readable"),
            RegionId::CONTEXT if write => format!("{place}: the context is read-only"),
            RegionId::CONTEXT => format!("{place}: no field of {len} bytes starts there"),
            id if id.as_record().is_some() && self.layout(id).is_none_or(|l| l.elements == 0) => {
                format!("{place}: no record is reserved there (any more)")
            }
            id if id.is_packet() && id != self.packet => format!(
                "{place}: a packet pointer from before the packet's ends moved; read data and \
                 data_end again"
            ),
            _ => self.explain_bounds(address, len, write, &place),
        }
    }

    /// Describes an address, such as `stack frame 0, offset -8`.
    pub fn describe(&self, address: u64) -> String {
        let id = RegionId::of(address);
        let (element, inner) = self.position(address);
        match id {
            RegionId::NULL => format!("{address:#x}"),
            RegionId::CONTEXT => format!("context+{}", offset(address)),
            RegionId::INPUT => format!("input+{}", offset(address)),
            RegionId::STACK => {
                format!("stack of frame {element}, offset {}", inner as i64 - 512)
            }
            RegionId::MAPS => format!("map number {}", offset(address)),
            RegionId::FUNCTIONS => {
                format!("function at instruction {}", offset(address) & 0xf_ffff)
            }
            id if id.is_object() => format!("kernel object, byte {}", offset(address)),
            id if id == self.packet => {
                let low = self.layout(id).map_or(0, |layout| layout.low);
                format!("packet, byte {}", inner as i64 - low as i64)
            }
            id if id.is_packet() => "packet (stale)".to_owned(),
            id if id.as_record().is_some() => {
                format!("ring buffer record, byte {}", offset(address))
            }
            id if self.has(id) => {
                let map = id.0 - RegionId::VALUES.0;
                format!("value {element} of map number {map}, byte {inner}")
            }
            _ => format!("{address:#x}, where nothing is"),
        }
    }

    fn position(&self, address: u64) -> (u64, u64) {
        let shift =
            self.layout(RegionId::of(address)).map_or(super::address::OFFSET_BITS, |l| l.shift);
        let offset = offset(address);
        (offset >> shift, offset & ((1 << shift) - 1))
    }

    fn explain_bounds(&self, address: u64, len: usize, write: bool, place: &str) -> String {
        let Some(layout) = self.layout(RegionId::of(address)) else {
            return place.to_owned();
        };
        let (element, inner) = self.position(address);
        let end = layout.low + layout.size;
        if element >= layout.elements {
            return format!("{place}: it ends with element {}", layout.elements);
        }
        if inner < layout.low || inner.saturating_add(len as u64) > end {
            return format!("{place}: {len} bytes there are not inside its {} bytes", layout.size);
        }
        if write && !layout.writable {
            return format!("{place}: read-only");
        }
        if !write && !layout.readable {
            return format!("{place}: programs may only write there");
        }
        format!("{place}: not aligned to {len} bytes")
    }
}

/// Whether an address was computed from a register that was not set.
fn is_poison(address: u64) -> bool {
    RegionId::of(address) == RegionId::of(POISON)
}
