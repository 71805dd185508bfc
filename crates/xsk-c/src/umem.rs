//! Memory for packets.

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

/// Memory for packets; any thread may use it at any time. It lives until the last of its own
/// handle and those of the sockets with it is closed.
#[derive(Debug)]
pub struct UmemHandle;

/// A memory, and which of its frames C holds.
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

/// What a memory is like, and where its frames are. The four counts of frames add up to `frames`;
/// they are exact while no other thread moves frames. A leak is what stays `held` when every socket
/// is closed and every frame released.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UmemInfo {
    /// `sizeof(struct xway_xsk_umem_info)`, set by the caller.
    pub size: usize,
    pub frames: u32,
    /// Bytes.
    pub frame_size: u32,
    /// Bytes of the longest packet that one frame takes on receive.
    pub receive_room: u32,
    /// Bytes of the longest packet that one frame takes on transmit.
    pub transmit_room: u32,
    /// 1 if it is made of huge pages.
    pub huge_pages: u32,
    /// Frames that nobody has.
    pub free: u32,
    /// Frames in the program's hands, and free ones that sockets keep ready.
    pub held: u32,
    /// Frames with the kernel for packets to come, or received and not yet taken.
    pub receiving: u32,
    /// Frames with the kernel to be sent, or sent and not yet taken back.
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

/// Makes memory for packets. `options` may be NULL for the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_open(
    options: *const UmemOptions,
    umem: *mut *mut UmemHandle,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the room, see `border`.
        let place = unsafe { border::place(umem, "umem") }?;
        // SAFETY: the caller promised a struct with its size, see `border`.
        let options = unsafe { border::options(options) }?;
        place.write(handle::open(Memory::of(options.builder()?.build()?))?);
        Ok(0)
    })
}

/// Closes the handle. Sockets with the memory go on.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_umem_close(umem: *mut UmemHandle) -> c_int {
    call(|| handle::close(umem).map(|()| 0))
}

/// Tells what the memory is like, and where its frames are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_info(umem: *mut UmemHandle, info: *mut UmemInfo) -> c_int {
    call(|| {
        let memory = handle::share(umem)?;
        // SAFETY: the caller promised a struct with its size, see `border`.
        unsafe { border::fill(info, UmemInfo::of(&memory.umem)) }?;
        Ok(0)
    })
}

/// Takes up to `count` free frames, as xway_xsk_tx_reserve() does, in any thread. Answers how many
/// were free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_reserve(
    umem: *mut UmemHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the room, see `border`.
        let places = unsafe { border::places(frames, count, "frames") }?;
        let memory = handle::share(umem)?;
        Ok(frame::hand_out(&memory.books, places, || memory.umem.alloc()))
    })
}

/// Gives frames back, in any thread; the fastest way is the half of a socket that uses them next.
/// Answers how many; see xway_xsk_tx_release().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_release(
    umem: *mut UmemHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the frames, see `border`.
        let frames = unsafe { border::array_mut(frames, count, "frames") }?;
        let memory = handle::share(umem)?;
        frame::take_back(&memory.books, frames, drop)
    })
}

/// Lets one packet be of several frames: `tail`, with all that follows it, becomes the end of
/// `head`, and is empty then. The socket must have been opened with `multi_buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_append(
    umem: *mut UmemHandle,
    head: *mut CFrame,
    tail: *mut CFrame,
) -> c_int {
    call(|| {
        // Worked on as copies: both may be one and the same, which is an error but no undefined
        // behaviour then.
        // SAFETY: the caller promised the frame, see `border`.
        let mut first = unsafe { border::array(head, 1, "head") }?[0];
        // SAFETY: as above.
        let mut last = unsafe { border::array(tail, 1, "tail") }?[0];
        frame::append(&handle::share(umem)?.books, &mut first, &mut last)?;
        // SAFETY: the caller promised the frame, and that nobody else uses it.
        unsafe { border::places(head, 1, "head") }?[0].write(first);
        // SAFETY: as above.
        unsafe { border::places(tail, 1, "tail") }?[0].write(last);
        Ok(0)
    })
}

/// Shows where the parts of a packet are, `count` of them at most, the first one included. They may
/// be read until the frame is submitted or released. Answers how many parts there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_parts(
    umem: *mut UmemHandle,
    frame: *const CFrame,
    parts: *mut Packet,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the frame, see `border`.
        let frame = unsafe { border::array(frame, 1, "frame") }?[0];
        // SAFETY: the caller promised the room, see `border`.
        let places = unsafe { border::places(parts, count, "parts") }?;
        frame::parts(&handle::share(umem)?.books, &frame, places)
    })
}
