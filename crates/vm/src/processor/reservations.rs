//! Ring buffer records that a program is writing, each in a window of exactly its size.
//!
//! Rule: a window is open from the reservation to the end of the record. Records that are open when
//! a run ends are discarded, and are a fault, as the kernel's verifier refuses such programs.
//! Windows are used in turn, so that a pointer into a finished record soon hits no memory.

use std::sync::Arc;

use super::Processor;
use crate::maps::{Place, Ring};
use crate::memory::{Layout, Memory, RegionId, offset};

/// The open records of a processor.
#[derive(Debug, Default)]
pub(crate) struct Reservations {
    open: [Option<Open>; RegionId::RECORDS_AT_ONCE as usize],
    /// The window at which the next search starts.
    turn: u32,
    count: u32,
}

/// A record that is being written.
#[derive(Clone, Copy, Debug)]
struct Open {
    map: u32,
    place: Place,
}

impl Reservations {
    /// Whether no record is being written.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A free window.
    fn free(&mut self) -> Option<u32> {
        let windows = RegionId::RECORDS_AT_ONCE;
        let steps = (0..windows).map(|step| (self.turn + step) % windows);
        let free = { steps }.find(|window| self.open[*window as usize].is_none())?;
        self.turn = (free + 1) % windows;
        Some(free)
    }
}

impl Processor {
    /// Reserves a record in a ring buffer and returns the address of its bytes. `None` when the
    /// ring is full, or too many records are open.
    pub fn reserve_record(&mut self, map: u32, len: u64) -> Option<u64> {
        let Self { maps, memory, reservations, .. } = self;
        let ring = maps.get(map as usize)?.ring()?;
        let window = reservations.free()?;
        let place = ring.reserve(len)?;
        reservations.open[window as usize] = Some(Open { map, place });
        reservations.count += 1;
        Some(open_window(memory, window, ring, &place))
    }

    /// Submits or discards the record at exactly that address; `false` if none is reserved there.
    pub fn finish_record(&mut self, address: u64, discard: bool) -> bool {
        let Some(window) = self.window_at(address) else { return false };
        let Self { maps, memory, reservations, .. } = self;
        let Some(open) = reservations.open[window as usize].take() else { return false };
        reservations.count -= 1;
        close_window(memory, window);
        if let Some(ring) = maps.get(open.map as usize).and_then(|map| map.ring()) {
            ring.finish(&open.place, discard);
        }
        true
    }

    /// Discards the records that the finished run left open; whether there were any.
    pub fn discard_records(&mut self) -> bool {
        if self.reservations.is_empty() {
            return false;
        }
        for window in 0..RegionId::RECORDS_AT_ONCE {
            self.finish_record(RegionId::record(window).at(0), true);
        }
        true
    }

    /// Shows a record of a user ring buffer to the program until [`Processor::hide_record`].
    pub fn show_record(&mut self, map: u32, place: &Place) -> Option<u64> {
        let Self { maps, memory, reservations, .. } = self;
        let ring = maps.get(map as usize)?.ring()?;
        let window = reservations.free()?;
        Some(open_window(memory, window, ring, place))
    }

    /// Ends [`Processor::show_record`].
    pub fn hide_record(&mut self, address: u64) {
        if let Some(window) = RegionId::of(address).as_record() {
            close_window(&mut self.memory, window);
        }
    }

    /// The window whose record starts at exactly that address.
    fn window_at(&self, address: u64) -> Option<u32> {
        let window = RegionId::of(address).as_record()?;
        (offset(address) == 0 && self.reservations.open[window as usize].is_some())
            .then_some(window)
    }
}

fn open_window(memory: &mut Memory, window: u32, ring: &Ring, place: &Place) -> u64 {
    let layout = Layout { start: place.start, shared: true, ..Layout::flat(place.len.into()) };
    memory.install(RegionId::record(window), Arc::clone(ring.slab()), layout);
    RegionId::record(window).at(0)
}

fn close_window(memory: &mut Memory, window: u32) {
    memory
        .reshape(RegionId::record(window), Layout { elements: 0, shared: true, ..Layout::flat(0) });
}
