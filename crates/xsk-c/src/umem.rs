//! Umems: memory for packets that is shared with the kernel.

use std::ffi::c_int;
use std::mem::size_of;
use std::sync::Arc;

use xsk::Umem;

use crate::books::Books;
use crate::border::{self, Plain, Versioned};
use crate::error::call;
use crate::frame::{self, CFrame, Packet};
use crate::handle::{self, Kind, Table};
use crate::options::UmemOptions;

/// A umem: memory for packets that is shared with the kernel. It may be used by several threads at
/// the same time. It is freed when its own handle and those of all its sockets are closed.
#[derive(Debug)]
pub struct UmemHandle;

/// A umem, and the frames of it that C owns.
#[derive(Clone, Debug)]
pub struct Memory {
    pub umem: Umem,
    pub books: Arc<Books>,
}

static TABLE: Table<Memory> = Table::new();

impl Kind for UmemHandle {
    type Value = Memory;
    const TAG: u8 = 0x51;
    const NAME: &'static str = "struct xway_xsk_umem";

    fn table() -> &'static Table<Memory> {
        &TABLE
    }
}

impl Memory {
    pub fn of(umem: Umem) -> Self {
        Self { books: Books::new(&umem), umem }
    }
}

/// Properties of a umem, and the state of its frames. The four counts of frames add up to `frames`;
/// they are exact while no other thread uses the umem. A frame that is still `held` after every
/// socket was closed and every frame released is a leak.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UmemInfo {
    /// `sizeof(struct xway_xsk_umem_info)`, set by the caller.
    pub size: usize,
    pub frames: u32,
    /// Size of a frame in bytes.
    pub frame_size: u32,
    /// Length of the longest packet that fits into one frame on receive, in bytes.
    pub receive_room: u32,
    /// Length of the longest packet that fits into one frame on transmit, in bytes.
    pub transmit_room: u32,
    /// 1 if the umem consists of huge pages.
    pub huge_pages: u32,
    /// Frames without an owner.
    pub free: u32,
    /// Frames that the program owns, and free ones that sockets keep ready.
    pub held: u32,
    /// Frames in the fill ring or the rx ring.
    pub receiving: u32,
    /// Frames in the tx ring or the completion ring.
    pub transmitting: u32,
    pub reserved: u32,
}

impl Default for UmemInfo {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            frames: 0,
            frame_size: 0,
            receive_room: 0,
            transmit_room: 0,
            huge_pages: 0,
            free: 0,
            held: 0,
            receiving: 0,
            transmitting: 0,
            reserved: 0,
        }
    }
}

impl UmemInfo {
    fn of(umem: &Umem) -> Self {
        let audit = umem.audit();
        Self {
            frames: audit.total,
            frame_size: umem.frame_size(),
            receive_room: umem.receive_room(),
            transmit_room: umem.transmit_room(),
            huge_pages: umem.uses_huge_pages().into(),
            free: audit.free,
            held: audit.held,
            receiving: audit.receiving,
            transmitting: audit.transmitting,
            ..Self::default()
        }
    }
}

// SAFETY: of integers alone.
unsafe impl Plain for UmemInfo {}
// SAFETY: begins with its size.
unsafe impl Versioned for UmemInfo {
    const NAME: &'static str = "struct xway_xsk_umem_info";
    const LEAST: usize = 48;
}

/// Create a umem. `options` may be NULL for the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_open(
    options: *const UmemOptions,
    umem: *mut *mut UmemHandle,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory, see `border`.
        let place = unsafe { border::place(umem, "umem") }?;
        // SAFETY: the caller guarantees a struct with its size, see `border`.
        let options = unsafe { border::options(options) }?;
        place.write(handle::open(Memory::of(options.builder()?.build()?))?);
        Ok(0)
    })
}

/// Close the handle. Sockets with this umem remain open.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_umem_close(umem: *mut UmemHandle) -> c_int {
    call(|| handle::close(umem).map(|()| 0))
}

/// Return the properties of the umem, and the state of its frames, in `info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_info(umem: *mut UmemHandle, info: *mut UmemInfo) -> c_int {
    call(|| {
        let memory = handle::share(umem)?;
        // SAFETY: the caller guarantees a struct with its size, see `border`.
        unsafe { border::fill(info, UmemInfo::of(&memory.umem)) }?;
        Ok(0)
    })
}

/// Take up to `count` free frames, as xway_xsk_tx_reserve() does, in any thread. Returns their
/// number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_reserve(
    umem: *mut UmemHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory, see `border`.
        let places = unsafe { border::places(frames, count, "frames") }?;
        let memory = handle::share(umem)?;
        Ok(frame::hand_out(&memory.books, places, || memory.umem.alloc()))
    })
}

/// Release frames, in any thread. Releasing them through the half of a socket that uses them next
/// is faster. Returns their number; see xway_xsk_tx_release().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_release(
    umem: *mut UmemHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the frames, see `border`.
        let frames = unsafe { border::array_mut(frames, count, "frames") }?;
        let memory = handle::share(umem)?;
        frame::take_back(&memory.books, frames, drop)
    })
}

/// Append `tail`, with all its parts, to the packet `head`; `tail` is empty afterwards. The socket
/// must have been opened with `multi_buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_append(
    umem: *mut UmemHandle,
    head: *mut CFrame,
    tail: *mut CFrame,
) -> c_int {
    call(|| {
        // Both are copied, since `head` and `tail` may be the same frame: this is an error, but not
        // undefined behavior.
        // SAFETY: the caller guarantees the frame, see `border`.
        let mut first = unsafe { border::array(head, 1, "head") }?[0];
        // SAFETY: as above.
        let mut last = unsafe { border::array(tail, 1, "tail") }?[0];
        frame::append(&handle::share(umem)?.books, &mut first, &mut last)?;
        // SAFETY: the caller guarantees the frame, and that no other thread uses it.
        unsafe { border::places(head, 1, "head") }?[0].write(first);
        // SAFETY: as above.
        unsafe { border::places(tail, 1, "tail") }?[0].write(last);
        Ok(0)
    })
}

/// Return the parts of a packet, `count` of them at most, including the first. They may be read
/// until the frame is submitted or released. Returns the total number of parts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_parts(
    umem: *mut UmemHandle,
    frame: *const CFrame,
    parts: *mut Packet,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the frame, see `border`.
        let frame = unsafe { border::array(frame, 1, "frame") }?[0];
        // SAFETY: the caller guarantees the memory, see `border`.
        let places = unsafe { border::places(parts, count, "parts") }?;
        frame::parts(&handle::share(umem)?.books, &frame, places)
    })
}
