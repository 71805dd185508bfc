//! The receiving half of a socket.

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

/// The receiving half of a socket. Only one thread may use it at a time.
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

/// Close this half; closing both halves closes the socket. Its packets go to the network stack from
/// now on.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_rx_close(rx: *mut RxHandle) -> c_int {
    call(|| handle::close(rx).map(|()| 0))
}

/// Copy the next packet to `buffer`. Waits up to `timeout_ms` for one: 0 does not wait, -1 waits
/// until a packet or a signal arrives. Returns the length of the packet, or 0 if there was none. If
/// the length exceeds `capacity`, the rest of the packet is lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_recv(
    rx: *mut RxHandle,
    buffer: *mut c_void,
    capacity: usize,
    timeout_ms: c_int,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory, see `border`.
        let buffer = unsafe { border::bytes_mut(buffer, capacity) }?;
        let receive = |rx: &mut Rx| rx.try_recv(buffer).unwrap_or(0) as c_int;
        handle::with(rx, |half| until(&mut half.rx, timeout_ms, receive))
    })
}

/// Copy up to `count` packets to the buffers of `packets`. `len` is the size of a buffer before the
/// call, and the length of the packet after it. Waits for a packet as xway_xsk_recv() does. Returns
/// the number of packets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_recv_batch(
    rx: *mut RxHandle,
    packets: *mut Packet,
    count: u32,
    timeout_ms: c_int,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the array, see `border`.
        let packets = unsafe { border::array_mut(packets, count, "packets") }?;
        for packet in &*packets {
            // SAFETY: the caller guarantees each buffer, see `border`.
            unsafe { border::bytes_mut(packet.data, packet.len) }?;
        }
        let receive = |rx: &mut Rx| {
            let mut left = packets.iter_mut();
            let most = left.len();
            let count = rx.for_each(most, |frame| {
                let Some(packet) = left.next() else { return };
                // SAFETY: the caller guarantees each buffer, see `border`.
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

/// Receive up to `count` packets without copying them, as frames that the program owns until it
/// submits or releases them. Waits for a packet as xway_xsk_recv() does. Returns the number of
/// frames.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rx_take(
    rx: *mut RxHandle,
    frames: *mut CFrame,
    count: u32,
    timeout_ms: c_int,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory, see `border`.
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

/// Release frames, so that packets can be received into them. Returns their number; stops at the
/// first frame that the program does not own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rx_release(
    rx: *mut RxHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the frames, see `border`.
        let frames = unsafe { border::array_mut(frames, count, "frames") }?;
        handle::with(rx, |half| {
            frame::take_back(&half.memory.books, frames, |frame| half.rx.recycle(frame))
        })
    })
}

/// Wait for a packet as xway_xsk_recv() does. Returns 1 if there is one, otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_rx_wait(rx: *mut RxHandle, timeout_ms: c_int) -> c_int {
    call(|| handle::with(rx, |half| Ok(half.rx.wait(deadline(timeout_ms))?.into())))
}

/// Returns the result of `receive` as soon as it is not 0 or the timeout expires.
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
        // The descriptors may not have contained a valid packet.
        if count > 0 || deadline.is_over() {
            return Ok(count);
        }
    }
    Ok(0)
}

/// Return the socket's file descriptor, for poll(2) and epoll(7): readable when there are packets.
/// The library owns it; do not close it.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_rx_fd(rx: *mut RxHandle) -> c_int {
    call(|| handle::with(rx, |half| Ok(half.rx.as_raw_fd())))
}

/// Return the counters of this half, and those of the kernel for the whole socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rx_stats(rx: *mut RxHandle, stats: *mut RxStats) -> c_int {
    call(|| {
        let counted = handle::with(rx, |half| RxStats::of(&half.rx))?;
        // SAFETY: the caller guarantees a struct with its size, see `border`.
        unsafe { border::fill(stats, counted) }?;
        Ok(0)
    })
}
