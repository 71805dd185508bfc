//! The memory that one processor can address: a table of regions, and checked access to them.
//!
//! Rule: every access of a program or helper goes through [`Memory::short`] or
//! [`Memory::translate`], which return a raw pointer only after they checked region, element,
//! bounds and write permission. A refused access is a [`Refused`] without data, to keep the fast
//! path small; [`Memory::explain`] describes it. Regions of one processor alone (stack, packet,
//! input) can be borrowed as slices; shared ones (map values) are copied.
#![allow(unsafe_code, reason = "pointers into slabs, at checked offsets")]

mod address;
mod explain;
mod region;
mod slab;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

pub use address::{OFFSET_BITS, OFFSET_MASK, POISON, RegionId, offset};
pub use region::Layout;
use region::Region;
pub use slab::Slab;

/// The access is not permitted; [`Memory::explain`] gives the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// The address space of one processor.
#[derive(Debug)]
pub struct Memory {
    regions: Vec<Region>,
    /// Owner of each region's bytes, by region number.
    slabs: Vec<Option<Arc<Slab>>>,
    layouts: Vec<Option<Layout>>,
    packet: RegionId,
}

// SAFETY: the raw places lie in slabs that `slabs` keeps alive; slabs are shared between
// threads only if the layout is shared, and are then accessed atomically.
unsafe impl Send for Memory {}

impl Memory {
    pub fn new() -> Self {
        let mut memory = Self {
            regions: Vec::new(),
            slabs: Vec::new(),
            layouts: Vec::new(),
            packet: RegionId::PACKET,
        };
        memory.grow(RegionId::VALUES);
        memory
    }

    /// Installs a region. For a private one (`shared` false) this memory must be the only holder of
    /// the slab.
    ///
    /// # Panics
    /// When the slab does not hold the layout, or a private slab has other holders.
    pub fn install(&mut self, id: RegionId, slab: Arc<Slab>, layout: Layout) {
        let alone = layout.shared || Arc::strong_count(&slab) == 1;
        assert!(alone, "a private region's slab has one holder");
        self.grow(RegionId(id.0 + 1));
        let place = id.0 as usize;
        self.regions[place] = Region::new(id, &slab, layout);
        self.slabs[place] = Some(slab);
        self.layouts[place] = Some(layout);
    }

    /// Changes the layout of a region, or removes it with a layout without elements; its slab
    /// remains.
    ///
    /// # Panics
    /// When the slab does not hold the layout, or a shared region would become private.
    pub fn reshape(&mut self, id: RegionId, layout: Layout) {
        let place = id.0 as usize;
        let slab = self.slabs[place].as_ref().expect("a region is installed before it changes");
        let was_shared = self.layouts[place].is_some_and(|before| before.shared);
        assert!(layout.shared || !was_shared, "a shared region remains shared");
        self.regions[place] = Region::new(id, slab, layout);
        self.layouts[place] = Some(layout);
    }

    pub fn layout(&self, id: RegionId) -> Option<Layout> {
        *self.layouts.get(id.0 as usize)?
    }

    pub fn has(&self, id: RegionId) -> bool {
        self.slabs.get(id.0 as usize).is_some_and(Option::is_some)
    }

    // ---- the packet -----------------------------------------------------------------------

    /// Installs the packet's buffer.
    pub fn install_packet(&mut self, buffer: Slab) {
        self.packet = RegionId::PACKET;
        self.install(RegionId::PACKET, Arc::new(buffer), Layout::flat(0));
    }

    /// Starts a run: the packet is the range of `size` bytes from `low` in its buffer, under the
    /// packet's first region number.
    pub fn start_packet(&mut self, low: u64, size: u64) {
        if self.packet != RegionId::PACKET {
            self.hand_on(RegionId::PACKET);
        }
        self.shape_packet(low, size);
    }

    /// Moves the packet's ends: older pointers to it become stale.
    pub fn move_packet(&mut self, low: u64, size: u64) {
        let next =
            RegionId::PACKET.0 + (self.packet.0 - RegionId::PACKET.0 + 1) % RegionId::PACKETS;
        self.hand_on(RegionId(next));
        self.shape_packet(low, size);
    }

    /// The packet's current region.
    pub fn packet(&self) -> RegionId {
        self.packet
    }

    /// The packet's whole buffer, including headroom and tailroom.
    pub fn packet_buffer(&self) -> &[u8] {
        self.private(self.packet)
    }

    pub fn packet_buffer_mut(&mut self) -> &mut [u8] {
        self.private_mut(self.packet)
    }

    fn hand_on(&mut self, next: RegionId) {
        let (from, to) = (self.packet.0 as usize, next.0 as usize);
        self.regions[from] = Region::NOTHING;
        self.slabs.swap(from, to);
        self.layouts.swap(from, to);
        self.packet = next;
    }

    fn shape_packet(&mut self, low: u64, size: u64) {
        self.reshape(self.packet, Layout { low, ..Layout::flat(size) });
    }

    // ---- access by programs ---------------------------------------------------------------

    #[inline(always)]
    pub fn load8(&self, address: u64) -> Result<u64, Refused> {
        self.load::<1>(address).map(|bytes| u8::from_ne_bytes(bytes).into())
    }

    #[inline(always)]
    pub fn load16(&self, address: u64) -> Result<u64, Refused> {
        self.load::<2>(address).map(|bytes| u16::from_ne_bytes(bytes).into())
    }

    #[inline(always)]
    pub fn load32(&self, address: u64) -> Result<u64, Refused> {
        self.load::<4>(address).map(|bytes| u32::from_ne_bytes(bytes).into())
    }

    #[inline(always)]
    pub fn load64(&self, address: u64) -> Result<u64, Refused> {
        self.load::<8>(address).map(u64::from_ne_bytes)
    }

    #[inline(always)]
    pub fn store8(&mut self, address: u64, value: u8) -> Result<(), Refused> {
        self.store(address, value.to_ne_bytes())
    }

    #[inline(always)]
    pub fn store16(&mut self, address: u64, value: u16) -> Result<(), Refused> {
        self.store(address, value.to_ne_bytes())
    }

    #[inline(always)]
    pub fn store32(&mut self, address: u64, value: u32) -> Result<(), Refused> {
        self.store(address, value.to_ne_bytes())
    }

    #[inline(always)]
    pub fn store64(&mut self, address: u64, value: u64) -> Result<(), Refused> {
        self.store(address, value.to_ne_bytes())
    }

    #[inline(always)]
    fn load<const N: usize>(&self, address: u64) -> Result<[u8; N], Refused> {
        match self.short::<N, false>(address) {
            // SAFETY: N bytes from `place` lie inside a live slab that only `self` reaches.
            Some(place) => Ok(unsafe { place.cast::<[u8; N]>().read() }),
            None => self.load_far(address),
        }
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, address: u64, bytes: [u8; N]) -> Result<(), Refused> {
        match self.short::<N, true>(address) {
            // SAFETY: N bytes from `place` lie inside a live slab that only `self` reaches.
            Some(place) => unsafe { place.cast::<[u8; N]>().write(bytes) },
            None => return self.store_far(address, bytes),
        }
        Ok(())
    }

    #[inline(never)]
    fn load_far<const N: usize>(&self, address: u64) -> Result<[u8; N], Refused> {
        let (place, _) = self.translate(address, N as u64, false)?;
        let mut bytes = [0; N];
        copy_out(place, &mut bytes);
        Ok(bytes)
    }

    #[inline(never)]
    fn store_far<const N: usize>(&mut self, address: u64, bytes: [u8; N]) -> Result<(), Refused> {
        let (place, _) = self.translate(address, N as u64, true)?;
        copy_in(place, &bytes);
        Ok(())
    }

    /// The word at a writable, aligned address, for atomic operations. Borrows mutably, because
    /// private memory may be lent as a slice at the same time.
    pub fn atomic32(&mut self, address: u64) -> Result<&AtomicU32, Refused> {
        self.translate(address, 4, false)?;
        let (place, _) = self.translate(address, 4, true)?;
        if !place.addr().is_multiple_of(4) {
            return Err(Refused);
        }
        // SAFETY: `place` lies inside a live slab, which `self` keeps, and is aligned.
        Ok(unsafe { AtomicU32::from_ptr(place.cast()) })
    }

    /// The double word at a writable, aligned address, for atomic operations. Borrows mutably, as
    /// [`Memory::atomic32`] does.
    pub fn atomic64(&mut self, address: u64) -> Result<&AtomicU64, Refused> {
        self.translate(address, 8, false)?;
        let (place, _) = self.translate(address, 8, true)?;
        if !place.addr().is_multiple_of(8) {
            return Err(Refused);
        }
        // SAFETY: `place` lies inside a live slab, which `self` keeps, and is aligned.
        Ok(unsafe { AtomicU64::from_ptr(place.cast()) })
    }

    // ---- access by helpers ----------------------------------------------------------------

    /// The bytes at `address`: borrowed if they are private, else copied into `scratch`, which must
    /// be long enough.
    pub fn view<'a>(
        &'a self,
        address: u64,
        len: usize,
        scratch: &'a mut [u8],
    ) -> Result<&'a [u8], Refused> {
        if len == 0 {
            return Ok(&[]);
        }
        let (place, shared) = self.range(address, len, false)?;
        if shared {
            let scratch = &mut scratch[..len];
            copy_out(place, scratch);
            return Ok(scratch);
        }
        // SAFETY: `len` bytes from `place` lie inside a live slab that only `self` reaches.
        Ok(unsafe { std::slice::from_raw_parts(place, len) })
    }

    /// Copies the bytes at `address` to `into`.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Refused> {
        if into.is_empty() {
            return Ok(());
        }
        let (place, _) = self.range(address, into.len(), false)?;
        copy_out(place, into);
        Ok(())
    }

    /// Copies bytes to `address`.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Refused> {
        if from.is_empty() {
            return Ok(());
        }
        let (place, _) = self.range(address, from.len(), true)?;
        copy_in(place, from);
        Ok(())
    }

    /// Checks that `len` bytes at `address` may be read, or written.
    pub fn check(&self, address: u64, len: usize, write: bool) -> Result<(), Refused> {
        if len == 0 {
            return Ok(());
        }
        self.range(address, len, write).map(|_| ())
    }

    /// All bytes of a private region's slab.
    ///
    /// # Panics
    /// When there is no such region or it is shared.
    pub fn private(&self, id: RegionId) -> &[u8] {
        let slab = self.private_slab(id);
        // SAFETY: the slab is live, and private: only `self` reaches it.
        unsafe { std::slice::from_raw_parts(slab.base().as_ptr(), slab.len()) }
    }

    /// # Panics
    /// When there is no such region or it is shared.
    pub fn private_mut(&mut self, id: RegionId) -> &mut [u8] {
        let slab = self.private_slab(id);
        // SAFETY: the slab is live, and private: only `self` reaches it, borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(slab.base().as_ptr(), slab.len()) }
    }

    #[inline]
    fn private_slab(&self, id: RegionId) -> &Slab {
        let layout = self.layouts[id.0 as usize].expect("a region is installed before its use");
        assert!(!layout.shared, "a shared region is copied, never borrowed");
        self.slabs[id.0 as usize].as_ref().expect("a layout has a slab")
    }

    // ---- translation ----------------------------------------------------------------------

    /// Pointer to `N` bytes of private, straight memory.
    #[inline(always)]
    fn short<const N: usize, const WRITE: bool>(&self, address: u64) -> Option<*mut u8> {
        let region = self.regions.get((address >> OFFSET_BITS) as usize)?;
        let inside = (address & region.mask).wrapping_sub(region.low);
        let places = region.short[usize::from(WRITE)][N.trailing_zeros() as usize];
        (inside < u64::from(places)).then(|| region.origin.wrapping_add(address as usize))
    }

    fn range(&self, address: u64, len: usize, write: bool) -> Result<(*mut u8, bool), Refused> {
        self.translate(address, len as u64, write)
    }

    /// Pointer to `len` bytes at `address`, and whether they are shared.
    #[inline(always)]
    fn translate(&self, address: u64, len: u64, write: bool) -> Result<(*mut u8, bool), Refused> {
        let id = RegionId::of(address);
        let region = self.regions.get(id.0 as usize).ok_or(Refused)?;
        let offset = offset(address);
        let element = offset >> region.shift;
        let inner = offset & ((1 << region.shift) - 1);
        let inside = inner.wrapping_sub(region.low);
        let fits = element < region.elements && inside < region.size && len <= region.size - inside;
        let allowed = if write { region.writable } else { region.readable };
        if !fits || !allowed {
            return Err(Refused);
        }
        let at = id.at(0) + element * region.stride + inner;
        Ok((region.origin.wrapping_add(at as usize), region.shared))
    }

    fn grow(&mut self, end: RegionId) {
        let len = self.regions.len().max(end.0 as usize);
        self.regions.resize(len, Region::NOTHING);
        self.slabs.resize(len, None);
        self.layouts.resize(len, None);
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// Callers checked that this number of bytes from `place` is inside a live slab.
#[inline(always)]
fn copy_out(place: *mut u8, into: &mut [u8]) {
    match into.len() {
        8 if place.addr().is_multiple_of(8) => {
            // SAFETY: inside the range that callers checked, and aligned.
            let word = unsafe { AtomicU64::from_ptr(place.cast()) };
            into.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        4 if place.addr().is_multiple_of(4) => {
            // SAFETY: inside the range that callers checked, and aligned.
            let word = unsafe { AtomicU32::from_ptr(place.cast()) };
            into.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        2 if place.addr().is_multiple_of(2) => {
            // SAFETY: inside the range that callers checked, and aligned.
            let word = unsafe { AtomicU16::from_ptr(place.cast()) };
            into.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
        }
        _ => copy_out_long(place, into),
    }
}

fn copy_out_long(place: *mut u8, into: &mut [u8]) {
    let words = if place.addr().is_multiple_of(8) { into.len() / 8 * 8 } else { 0 };
    let (whole, rest) = into.split_at_mut(words);
    for (at, chunk) in whole.chunks_exact_mut(8).enumerate() {
        let word = place.wrapping_add(at * 8).cast();
        // SAFETY: inside the range that callers checked, and aligned.
        let value = unsafe { AtomicU64::from_ptr(word) }.load(Relaxed);
        chunk.copy_from_slice(&value.to_ne_bytes());
    }
    for (at, byte) in rest.iter_mut().enumerate() {
        // SAFETY: inside the range that callers checked.
        *byte = unsafe { AtomicU8::from_ptr(place.wrapping_add(words + at)) }.load(Relaxed);
    }
}

/// Callers checked that this number of bytes from `place` is inside a live slab.
#[inline(always)]
fn copy_in(place: *mut u8, from: &[u8]) {
    match *from {
        [a, b, c, d, e, f, g, h] if place.addr().is_multiple_of(8) => {
            // SAFETY: inside the range that callers checked, and aligned.
            let word = unsafe { AtomicU64::from_ptr(place.cast()) };
            word.store(u64::from_ne_bytes([a, b, c, d, e, f, g, h]), Relaxed);
        }
        [a, b, c, d] if place.addr().is_multiple_of(4) => {
            // SAFETY: inside the range that callers checked, and aligned.
            let word = unsafe { AtomicU32::from_ptr(place.cast()) };
            word.store(u32::from_ne_bytes([a, b, c, d]), Relaxed);
        }
        [a, b] if place.addr().is_multiple_of(2) => {
            // SAFETY: inside the range that callers checked, and aligned.
            let word = unsafe { AtomicU16::from_ptr(place.cast()) };
            word.store(u16::from_ne_bytes([a, b]), Relaxed);
        }
        _ => copy_in_long(place, from),
    }
}

fn copy_in_long(place: *mut u8, from: &[u8]) {
    let words = if place.addr().is_multiple_of(8) { from.len() / 8 * 8 } else { 0 };
    let (whole, rest) = from.split_at(words);
    for (at, chunk) in whole.chunks_exact(8).enumerate() {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(chunk);
        let word = place.wrapping_add(at * 8).cast();
        // SAFETY: inside the range that callers checked, and aligned.
        let word = unsafe { AtomicU64::from_ptr(word) };
        word.store(u64::from_ne_bytes(bytes), Relaxed);
    }
    for (at, byte) in rest.iter().enumerate() {
        // SAFETY: inside the range that callers checked.
        let cell = unsafe { AtomicU8::from_ptr(place.wrapping_add(words + at)) };
        cell.store(*byte, Relaxed);
    }
}
