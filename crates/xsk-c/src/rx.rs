//! The half of a socket that receives.

use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;

use xsk::Rx;

use crate::border;
use crate::error::{Result, call};
use crate::frame::{self, CFrame, Packet};
use crate::handle::{self, Kind, Table};
use crate::limits::deadline;
use crate::stats::RxStats;
use crate::umem::Memory;

/// The half of a socket that receives: for one thread at a time.
#[derive(Debug)]
pub struct RxHandle;

#[derive(Debug)]
pub struct Receiving {
    pub rx: Rx,
    pub memory: Memory,
}

static TABLE: Table<Receiving> = Table::new();

impl Kind for RxHandle {
    type Value = Receiving;
    const TAG: u8 = 0x57;
    const NAME: &'static str = "struct xway_xsk_rx";

    fn table() -> &'static Table<Receiving> {
        &TABLE
    }
}

/// Closes this half; the socket closes with the second one. Packets go to the stack from now on.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_rx_close(rx: *mut RxHandle) -> c_int {
    call(|| handle::close(rx).map(|()| 0))
}

/// Copies the next packet into `buffer`. Waits for one `timeout_ms` at most; 0 not at all, -1 until
/// one or a signal comes. Answers its length, which may be more than `capacity`: then the rest is
/// lost. 0 when there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_recv(
    rx: *mut RxHandle,
    buffer: *mut c_void,
    capacity: usize,
    timeout_ms: c_int,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the room, see `border`.
        let buffer = unsafe { border::bytes_mut(buffer, capacity) }?;
        let receive = |rx: &mut Rx| rx.try_recv(buffer).unwrap_or(0) as c_int;
        handle::with(rx, |half| until(&mut half.rx, timeout_ms, receive))
    })
}

/// Copies up to `count` packets into the buffers of `packets`, whose `len` is how much fits and
/// becomes the length of the packet. Waits as xway_xsk_recv() does until there is one. Answers how
/// many it copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_recv_batch(
    rx: *mut RxHandle,
    packets: *mut Packet,
    count: u32,
    timeout_ms: c_int,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the array, see `border`.
        let packets = unsafe { border::array_mut(packets, count, "packets") }?;
        for packet in &*packets {
            // SAFETY: the caller promised the room of each, see `border`.
            unsafe { border::bytes_mut(packet.data, packet.len) }?;
        }
        let receive = |rx: &mut Rx| {
            let mut left = packets.iter_mut();
            let most = left.len();
            let count = rx.for_each(most, |frame| {
                let Some(packet) = left.next() else { return };
                // SAFETY: the caller promised the room of each, see `border`.
                if let Ok(buffer) = unsafe { border::bytes_mut(packet.data, packet.len) } {
                    frame.copy_to(buffer);
                }
                packet.len = frame.packet_len();
            });
            count as c_int
        };
        if count == 0 {
            return handle::with(rx, |_| Ok(0));
        }
        handle::with(rx, |half| until(&mut half.rx, timeout_ms, receive))
    })
}

/// Takes up to `count` received packets without a copy, as frames that the program owns until it
/// submits or releases them. Waits as xway_xsk_recv() does until there is one. Answers how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rx_take(
    rx: *mut RxHandle,
    frames: *mut CFrame,
    count: u32,
    timeout_ms: c_int,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the room, see `border`.
        let places = unsafe { border::places(frames, count, "frames") }?;
        if count == 0 {
            return handle::with(rx, |_| Ok(0));
        }
        handle::with(rx, |half| {
            let books = &half.memory.books;
            until(&mut half.rx, timeout_ms, |rx| {
                let mut batch = rx.batch(places.len());
                frame::hand_out(books, places, || batch.next())
            })
        })
    })
}

/// Gives frames back, to be received into again. Answers how many; the first that is none of the
/// program's frames ends it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rx_release(
    rx: *mut RxHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the frames, see `border`.
        let frames = unsafe { border::array_mut(frames, count, "frames") }?;
        handle::with(rx, |half| {
            frame::take_back(&half.memory.books, frames, |frame| half.rx.recycle(frame))
        })
    })
}

/// Waits as xway_xsk_recv() does. Answers 1 if a packet is there, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_rx_wait(rx: *mut RxHandle, timeout_ms: c_int) -> c_int {
    call(|| handle::with(rx, |half| Ok(half.rx.wait(deadline(timeout_ms))?.into())))
}

/// What `receive` counts, as soon as it is not 0 or the time is over.
fn until(
    rx: &mut Rx,
    timeout_ms: c_int,
    mut receive: impl FnMut(&mut Rx) -> c_int,
) -> Result<c_int> {
    let count = receive(rx);
    if count > 0 || timeout_ms == 0 {
        return Ok(count);
    }
    let deadline = deadline(timeout_ms);
    while rx.wait(deadline)? {
        let count = receive(rx);
        // What came may have been no packet.
        if count > 0 || deadline.is_over() {
            return Ok(count);
        }
    }
    Ok(0)
}

/// The socket's descriptor, for poll(2) and epoll(7): readable when packets are there. It stays the
/// library's.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_rx_fd(rx: *mut RxHandle) -> c_int {
    call(|| handle::with(rx, |half| Ok(half.rx.as_raw_fd())))
}

/// Fills in what this half counted, and the kernel for the whole socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rx_stats(rx: *mut RxHandle, stats: *mut RxStats) -> c_int {
    call(|| {
        let counted = handle::with(rx, |half| RxStats::of(&half.rx))?;
        // SAFETY: the caller promised a struct with its size, see `border`.
        unsafe { border::fill(stats, counted) }?;
        Ok(0)
    })
}
