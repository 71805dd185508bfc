//! Special fields in map values and allocated objects: which field an address refers to.

use super::bad_argument;
use crate::fault::Fault;
use crate::maps::FieldKind;
use crate::memory::{RegionId, offset};
use crate::processor::Processor;

/// Checks that an argument points to a special field that `fits`, in a map's value or an object.
pub(super) fn check_field(
    processor: &Processor,
    function: &str,
    argument: u8,
    address: u64,
    fits: impl Fn(FieldKind) -> bool,
) -> Result<(), Box<Fault>> {
    match field_at(processor, address) {
        Some(kind) if fits(kind) => Ok(()),
        Some(_) => Err(bad_argument(function, argument, "a field of another kind")),
        None => {
            Err(bad_argument(function, argument, "not a special field of a value or an object"))
        }
    }
}

fn field_at(processor: &Processor, address: u64) -> Option<FieldKind> {
    let region = RegionId::of(address);
    let map = region.0.checked_sub(RegionId::VALUES.0).and_then(|n| processor.maps.get(n as usize));
    let field = if let Some(map) = map {
        let (_, layout) = map.values()?;
        let inner = offset(address) & ((1 << layout.shift) - 1);
        map.attributes().fields.at(u32::try_from(inner).ok()?).copied()
    } else {
        let services = &processor.shared.services;
        let (start, size) = services.heap.object(address)?;
        let fields = services.fields.get(&size.type_id)?;
        fields.at(u32::try_from(address - start).ok()?).copied()
    };
    field.map(|field| field.kind)
}
