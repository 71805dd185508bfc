//! Tests of what a memory must refuse, from this crate and from programs.

use super::*;

const PLACE: RegionId = RegionId::values_of(0);

fn shared(layout: Layout, bytes: u64) -> Memory {
    let mut memory = Memory::new();
    memory.install(PLACE, Arc::new(Slab::new(bytes).unwrap()), layout);
    memory
}

#[test]
#[should_panic(expected = "a shared region remains shared")]
fn a_shared_region_never_becomes_private() {
    let mut memory = shared(Layout::elements(1, 8, 8), 8);
    memory.reshape(PLACE, Layout::flat(8));
}

#[test]
#[should_panic(expected = "has one holder")]
fn a_private_region_has_its_slab_alone() {
    let slab = Arc::new(Slab::new(8).unwrap());
    let other = Arc::clone(&slab);
    Memory::new().install(PLACE, slab, Layout::flat(8));
    drop(other);
}

#[test]
fn layouts_that_overflow_are_refused() {
    let wide = Layout::elements(1 << 33, 8, 1 << 32);
    let rows = [
        wide,
        Layout { start: u64::MAX, ..Layout::flat(8) },
        Layout { low: u64::MAX, ..Layout::flat(8) },
        Layout { low: 1, ..Layout::flat(u64::MAX) },
        Layout { start: 1, ..Layout::flat(8) },
    ];
    for layout in rows {
        let layout = Layout { shared: true, ..layout };
        let made = std::panic::catch_unwind(|| shared(layout, 8));
        assert!(made.is_err(), "{layout:?}");
    }
}

/// Every start and length around every element, by arithmetic that cannot wrap.
#[test]
fn bytes_outside_of_elements_are_never_reached() {
    let layouts = [
        Layout { low: 2, size: 5, start: 3, ..Layout::elements(3, 7, 9) },
        Layout { shared: false, ..Layout::elements(3, 7, 8) },
        Layout { writable: false, ..Layout::straight(4, 8) },
        Layout { readable: false, ..Layout::elements(2, 8, 8) },
        Layout { low: 4, ..Layout::flat(20) },
        Layout { elements: 0, ..Layout::elements(1, 8, 8) },
    ];
    for layout in layouts {
        let mut memory = shared(layout, 64);
        let step = 1_u64 << layout.shift.min(6);
        for at in (0..step * 5).chain([OFFSET_MASK - 3, OFFSET_MASK]) {
            let (element, inner) = (at >> layout.shift, at & ((1 << layout.shift) - 1));
            for len in [1_u64, 2, 4, 8] {
                let inside = element < layout.elements
                    && inner >= layout.low
                    && inner + len <= layout.low + layout.size;
                let address = PLACE.at(at);
                let mut bytes = vec![0; len as usize];
                let rows = [
                    ("read", memory.read(address, &mut bytes), inside && layout.readable),
                    ("write", memory.write(address, &bytes), inside && layout.writable),
                ];
                let word = match len {
                    1 => memory.load8(address),
                    2 => memory.load16(address),
                    4 => memory.load32(address),
                    _ => memory.load64(address),
                };
                assert_eq!(word.is_ok(), inside && layout.readable, "load {layout:?} {at}+{len}");
                for (what, result, expected) in rows {
                    assert_eq!(result.is_ok(), expected, "{what} {layout:?} {at}+{len}");
                }
            }
        }
    }
}
